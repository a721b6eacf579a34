// Every form of text is read and printed back unchanged, also after a detour through the generic
// form and through MLIR bytecode.
// RUN: grep -v '^//' %s > %t.text
// RUN: cupel opt %s | diff %t.text -
// RUN: cupel opt %s --emit=generic | cupel opt - | diff %t.text -
// RUN: cupel opt %s --emit=bytecode | cupel opt - | diff %t.text -
module {
  func.func @values(%arg0: !stablehlo.token, %arg1: tensor<4xf32>, %arg2: memref<4xf32>) {
    %0 = stablehlo.create_token : !stablehlo.token
    %1 = stablehlo.after_all  : !stablehlo.token
    %2 = stablehlo.after_all %arg0, %0 : !stablehlo.token
    %3 = stablehlo.tuple %arg1, %arg0, %arg2 : tuple<tensor<4xf32>, !stablehlo.token, memref<4xf32>>
    %4 = stablehlo.get_tuple_element %3[2] : (tuple<tensor<4xf32>, !stablehlo.token, memref<4xf32>>) -> memref<4xf32>
    %5 = stablehlo.tuple  : tuple<>
    %6:2 = stablehlo.optimization_barrier %arg1, %arg0 : tensor<4xf32>, !stablehlo.token
    stablehlo.optimization_barrier()
    return
  }
  func.func @control(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<4xf32>) {
    %0 = "stablehlo.if"(%arg0) ({
      stablehlo.return %arg2 : tensor<4xf32>
    }, {
      %3 = stablehlo.negate %arg2 : tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %1:2 = "stablehlo.case"(%arg1) ({
      stablehlo.return %arg2, %arg2 : tensor<4xf32>, tensor<4xf32>
    }, {
      stablehlo.return %0, %arg2 : tensor<4xf32>, tensor<4xf32>
    }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
    "stablehlo.if"(%arg0) ({
      stablehlo.return 
    }, {
      stablehlo.return 
    }) : (tensor<i1>) -> ()
    %2:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %arg2) : tensor<i32>, tensor<4xf32> attributes {trip = 3 : i64}
     cond {
      stablehlo.return %arg0 : tensor<i1>
    } do {
      stablehlo.return %iterArg, %iterArg_0 : tensor<i32>, tensor<4xf32>
    }
    stablehlo.while()
     cond {
      stablehlo.return %arg0 : tensor<i1>
    } do {
      stablehlo.return 
    }
    return
  }
  func.func private @impl(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
  func.func @calls(%arg0: tensor<4xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<*xf32>) {
    %0 = stablehlo.custom_call @foo(%arg0, %arg2) : (tensor<4xf32>, tensor<*xf32>) -> tensor<4xf32>
    stablehlo.custom_call @"not an id"(%arg0) {has_side_effect = true} : (tensor<4xf32>) -> ()
    %1:2 = stablehlo.custom_call @typed(%arg1) {api_version = 4 : i32, backend_config = {a = 1 : i32, b = "x"}, called_computations = [@impl], operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<4xf32>)
    %2 = stablehlo.composite "cupel.impl" %arg0 {composite_attributes = {n = 2 : i64}, decomposition = @impl, version = 3 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = stablehlo.composite "cupel.impl" %arg0 ({
      %4 = stablehlo.negate %arg0 : tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }) {decomposition = @impl} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @communication(%arg0: tensor<4x4xf32>, %arg1: !stablehlo.token, %arg2: tensor<i32>) {
    %0 = stablehlo.replica_id : tensor<ui32>
    %1 = stablehlo.partition_id : tensor<ui32>
    %2:2 = "stablehlo.infeed"(%arg1) <{infeed_config = "cfg", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token)
    %3 = "stablehlo.outfeed"(%arg0, %arg1) <{outfeed_config = "cfg"}> : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
    %4 = "stablehlo.send"(%arg0, %arg1) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
    %5:2 = "stablehlo.recv"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token)
    %6:2 = "stablehlo.all_gather"(%arg0, %arg0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, use_global_device_ids}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
    %7 = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %13 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %13 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %8 = "stablehlo.reduce_scatter"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %13 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %13 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x2xf32>
    %9 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<4x4xf32>) -> tensor<8x2xf32>
    %10 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %11 = "stablehlo.collective_broadcast"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %12 = "stablehlo.cross-replica-sum"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return
  }
  func.func @newest(%arg0: tensor<4x4xf32>) {
    %0 = "stablehlo.collective_reduce"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %4 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg1: tensor<4x4xf32>):
      %4 = "stablehlo.collective_permute"(%arg1) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
      stablehlo.return %4 : tensor<4x4xf32>
    }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x4xf32>>
    %2 = "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<4x4xf32>>) -> tensor<4x4xf32>
    %3 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[#stablehlo.mesh_axis<name = "x", size = 2>], device_ids=dense<[1, 0]> : tensor<2xi64>>, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1) 2>]>}> : (tensor<4x4xf32>) -> tensor<4x8xf32>
    return
  }
}
