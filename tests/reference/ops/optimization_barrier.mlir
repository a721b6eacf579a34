// Values: by hand.

func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<7> : tensor<i8>
  %y:2 = stablehlo.optimization_barrier %a, %b : tensor<2xf32>, tensor<i8>
  check.expect_eq_const %y#0, dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %y#1, dense<7> : tensor<i8>
  stablehlo.optimization_barrier()
  func.return
}
