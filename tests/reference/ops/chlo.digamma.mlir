// Values: mpmath with 300 bits; the lowering is a formula of a few steps, so the tolerance is absolute.

func.func @main() {
  %x = stablehlo.constant dense<[0.5, 3.0, 10.0, -1.5]> : tensor<4xf32>
  %y = chlo.digamma %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %y, dense<[-1.96351, 0.9227843, 2.2517526, 0.70315665]> : tensor<4xf32>, tolerance = 1.0e-5
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.5, 3.0, 10.0, -1.5]> : tensor<4xf64>
  %y = chlo.digamma %x : tensor<4xf64> -> tensor<4xf64>
  check.expect_almost_eq_const %y, dense<[-1.9635100260214235, 0.9227843350984671, 2.251752589066721, 0.7031566406452432]> : tensor<4xf64>, tolerance = 1.0e-13
  func.return
}
