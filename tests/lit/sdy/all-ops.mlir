// Every op and attribute of the dialect.
// The text comes back byte for byte, also through generic form and bytecode.
// RUN: sed -e '/^\/\//d' -e '/^$/d' %s > %t.expected
// RUN: cupel opt %s | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=generic | cupel opt - | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=bytecode | cupel opt - | sed '/^$/d' | diff %t.expected -

module @all attributes {mhlo.num_partitions = 16 : i32} {
  sdy.mesh @empty = <[]>
  sdy.mesh @maximal = <[], device_ids=[5]>
  sdy.mesh @mesh = <["a"=2, "b"=8]>
  sdy.mesh @turned = <["a"=2, "b"=8], device_ids=[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>
  sdy.mesh @"odd name" = <["a\22q\22\\"=1, "\C3\BC"=3]>
  func.func @shardings(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}p1, {?}], replicated={"b":(1)2}, unreduced={"b":(2)2}>}, %arg1: tensor<7x3xi1> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>, [{"y":(2)2, "x"}p0, {?}p2]>}, %arg2: tensor<f32> {sdy.sharding = #sdy.sharding<@empty, []>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@maximal, []>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"b"}, {}], replicated={"a"}> : tensor<8x8xf32>
    %1 = sdy.reshard %0 <@mesh, [{"b":(1)2}, {"b":(4)2, "a"}], unreduced={"b":(2)2}> {note = "here"} : tensor<8x8xf32>
    sdy.sharding_group %1 group_id=21 : tensor<8x8xf32>
    %2 = sdy.constant dense<1.000000e+00> : tensor<8x8xf32>
    %3 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>} dense<2.000000e+00> : tensor<8x8xf32>
    %4 = sdy.propagation_barrier %2 allowed_direction=BACKWARD : tensor<8x8xf32>
    %5 = sdy.propagation_barrier %4 allowed_direction=NONE {k} : tensor<8x8xf32>
    %6:2 = call @two(%5) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"a"}]>, <@mesh, []>]>} : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<f32>)
    %7 = sdy.data_flow_edge %6#0 sharding=<@mesh, [{}, {"a"}]> : tensor<8x8xf32>
    %8 = sdy.data_flow_edge %6#1 : tensor<f32>
    return %7 : tensor<8x8xf32>
  }
  func.func private @two(tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<f32>)
  func.func @manual(%arg0: tensor<16x32xf32>, %arg1: tensor<f32>) -> tensor<16x32xf32> {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"a", "b":(1)2}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"a"}, {?}]>] manual_axes={"a"} (%arg2: tensor<8x32xf32>, %arg3: tensor<f32>) {
      %1 = sdy.manual_computation(%arg2) in_shardings=[<@mesh, [{"b"}, {}]>] out_shardings=[<@mesh, [{"b"}, {}]>] manual_axes={"b"} (%arg4: tensor<1x32xf32>) {
        sdy.return %arg4 : tensor<1x32xf32>
      } {k = 1 : i32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
      sdy.return %1 : tensor<8x32xf32>
    } : (tensor<16x32xf32>, tensor<f32>) -> tensor<16x32xf32>
    sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
      sdy.return
    } : () -> ()
    return %0 : tensor<16x32xf32>
  }
  func.func @named(%arg0: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
    %0 = sdy.named_computation<"foo">(%arg0) (%arg1: tensor<16x32xf32>) {
      sdy.return %arg1 : tensor<16x32xf32>
    } : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %1 = sdy.named_computation<"b ar">(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{}, {"b"}]>] (%arg1: tensor<16x32xf32>) {
      sdy.return %arg1 : tensor<16x32xf32>
    } {mhlo.x = "y"} : (tensor<16x32xf32>) -> tensor<16x32xf32>
    return %0, %1 : tensor<16x32xf32>, tensor<16x32xf32>
  }
  func.func @collectives(%arg0: tensor<16x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}, {}]>}, %arg1: tensor<16x16x16xf32>) -> tensor<16x16x16xf32> {
    %0 = sdy.all_gather [{"b":(2)4}, {}, {}] %arg0 out_sharding=<@mesh, [{"a", "b":(1)2}, {}, {}]> : tensor<16x16x16xf32>
    %1 = sdy.all_slice [{}, {"b":(2)2}, {}] %0 out_sharding=<@mesh, [{"a", "b":(1)2}, {"b":(2)2}, {}]> : tensor<16x16x16xf32>
    %2 = sdy.all_to_all [{"b":(1)2}: 0->2] %1 out_sharding=<@mesh, [{"a"}, {"b":(2)2}, {"b":(1)2}]> : tensor<16x16x16xf32>
    %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{"b":(1)2}, {"b":(2)2}, {"a"}]> : tensor<16x16x16xf32>
    %4 = sdy.all_reduce {"b":(4)2} %3 out_sharding=<@mesh, [{"b":(1)2}, {"b":(2)2}, {"a"}]> : tensor<16x16x16xf32>
    %5 = sdy.reduce_scatter [{}, {}, {"b":(4)2}] %4 out_sharding=<@mesh, [{"b":(1)2}, {"b":(2)2}, {"a", "b":(4)2}]> : tensor<16x16x16xf32>
    %6 = sdy.sharded_to_unreduced [{"b":(1)2}, {"b":(2)2}, {}] %5 out_sharding=<@mesh, [{}, {}, {"a", "b":(4)2}], unreduced={"b":(1)4}> : tensor<16x16x16xf32>
    %7 = sdy.all_gather [{}, {}, {"a", "b":(4)2}] %6 out_sharding=<@mesh, [{}, {}, {}], unreduced={"b":(1)4}> : tensor<16x16x16xf32>
    %8 = sdy.replicated_to_unreduced {"a", "b":(4)2} %7 out_sharding=<@mesh, [{}, {}, {}], unreduced={"a", "b"}> : tensor<16x16x16xf32>
    %9 = sdy.all_reduce {"a", "b"} %8 out_sharding=<@mesh, [{}, {}, {}]> : tensor<16x16x16xf32>
    return %9 : tensor<16x16x16xf32>
  }
  func.func @rules(%arg0: tensor<8x16xf32>) attributes {eight = #sdy<manual_axes{"a", "b"}>, eleven = #sdy.op_sharding_rule<([])->([])>, five = #sdy<dimension_sharding{"a", ?}>, four = #sdy<sub_axis_info(1)2>, nine = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k], []) {i=8, j=16, k=8} reduction={j} need_replication={i} permutation={k} blocked_propagation={i, j}, custom>, one = #sdy<axis_ref_list{"a", "b":(1)2}>, seven = #sdy<tensor_mapping[ij, z_1z, k]>, six = #sdy<all_to_all_param{"a"}: 0->1>, ten = #sdy.mesh<["q"=2]>, three = #sdy<mesh_axis"x"=3>, two = #sdy<list_of_axis_ref_lists[{}, {"a"}]>} {
    return
  }
}
