// Values: mpmath with 300 bits; the lowering is a formula of a few steps, so the tolerance is absolute.

func.func @main() {
  %x = stablehlo.constant dense<[-2.0, -0.25, 0.5, 3.0]> : tensor<4xf32>
  %y = chlo.cosh %x : tensor<4xf32> -> tensor<4xf32>
  check.expect_almost_eq_const %y, dense<[3.7621956, 1.0314131, 1.127626, 10.067662]> : tensor<4xf32>, tolerance = 1.0e-5
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-2.0, -0.25, 0.5, 3.0]> : tensor<4xf64>
  %y = chlo.cosh %x : tensor<4xf64> -> tensor<4xf64>
  check.expect_almost_eq_const %y, dense<[3.7621956910836314, 1.0314130998795732, 1.1276259652063807, 10.067661995777765]> : tensor<4xf64>, tolerance = 1.0e-13
  func.return
}
