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
