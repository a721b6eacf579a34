// Values: by hand. On one device these hand their operand on.

module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main() {
    %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %a = sdy.sharding_constraint %x <@mesh, [{"x"}]> : tensor<2xf32>
    %b = sdy.reshard %a <@mesh, [{}]> : tensor<2xf32>
    sdy.sharding_group %b group_id=1 : tensor<2xf32>
    %c = sdy.propagation_barrier %b allowed_direction=BACKWARD : tensor<2xf32>
    %z = stablehlo.optimization_barrier %c : tensor<2xf32>
    %d = sdy.data_flow_edge %z : tensor<2xf32>
    check.expect_eq_const %d, dense<[1.0, 2.0]> : tensor<2xf32>
    func.return
  }
}

// -----

// Shardy's own collectives move pieces of a tensor that stays what it is as a whole.
module {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func @main() {
    %x = sdy.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %0 = sdy.all_slice [{"a"}, {}] %x out_sharding=<@mesh, [{"a"}, {}]> : tensor<2x2xf32>
    %1 = sdy.all_to_all [{"a"}: 0->1] %0 out_sharding=<@mesh, [{}, {"a"}]> : tensor<2x2xf32>
    %2 = sdy.collective_permute %1 out_sharding=<@mesh, [{}, {"b"}]> : tensor<2x2xf32>
    %3 = sdy.all_reduce {"a"} %2 out_sharding=<@mesh, [{}, {"b"}]> : tensor<2x2xf32>
    %4 = sdy.reduce_scatter [{"a"}, {}] %3 out_sharding=<@mesh, [{"a"}, {"b"}]> : tensor<2x2xf32>
    %5 = sdy.sharded_to_unreduced [{"a"}, {}] %4 out_sharding=<@mesh, [{}, {"b"}], unreduced={"a"}> : tensor<2x2xf32>
    %6 = sdy.all_gather [{}, {"b"}] %5 out_sharding=<@mesh, [{}, {}], unreduced={"a"}> : tensor<2x2xf32>
    %7 = sdy.replicated_to_unreduced {"b"} %6 out_sharding=<@mesh, [{}, {}], unreduced={"a", "b"}> : tensor<2x2xf32>
    check.expect_eq_const %7, dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    func.return
  }
}
