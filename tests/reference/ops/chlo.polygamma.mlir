// Values: scipy.special.polygamma.

func.func @main() {
  %n = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf64>
  %x = stablehlo.constant dense<[1.0, 2.5, 0.5]> : tensor<3xf64>
  %y = chlo.polygamma %n, %x : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[1.6449340668482266, -0.23620405164172736, 97.40909103400242]> : tensor<3xf64>, tolerance = 1.0e-9
  func.return
}
