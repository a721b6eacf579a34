// Values: mpmath with 300 bits; the lowering is a formula of a few steps, so the tolerance is absolute.

func.func @main() {
  %x = stablehlo.constant dense<[0.5, 3.5, 10.0, -1.5]> : tensor<4xf32>
  %y = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %y, dense<[0.5723649, 1.2009736, 12.801827, 0.86004704]> : tensor<4xf32>, tolerance = 1.0e-5
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.5, 3.5, 10.0, -1.5]> : tensor<4xf64>
  %y = chlo.lgamma %x : tensor<4xf64> -> tensor<4xf64>
  check.expect_almost_eq_const %y, dense<[0.5723649429247001, 1.2009736023470743, 12.801827480081469, 0.860047015376481]> : tensor<4xf64>, tolerance = 1.0e-13
  func.return
}
