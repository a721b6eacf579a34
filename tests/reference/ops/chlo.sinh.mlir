// Values: mpmath with 300 bits; the lowering is a formula of a few steps, so the tolerance is absolute.

func.func @main() {
  %x = stablehlo.constant dense<[-2.0, -0.25, 0.5, 3.0]> : tensor<4xf32>
  %y = chlo.sinh %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %y, dense<[-3.6268604, -0.25261232, 0.5210953, 10.017875]> : tensor<4xf32>, tolerance = 1.0e-5
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-2.0, -0.25, 0.5, 3.0]> : tensor<4xf64>
  %y = chlo.sinh %x : tensor<4xf64> -> tensor<4xf64>
  check.expect_almost_eq_const %y, dense<[-3.6268604078470186, -0.2526123168081683, 0.5210953054937474, 10.017874927409903]> : tensor<4xf64>, tolerance = 1.0e-13
  func.return
}
