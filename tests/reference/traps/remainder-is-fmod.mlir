// Trap: remainder of floats has the sign of the dividend, also of a zero, and is exact.

func.func @main() {
  %a = stablehlo.constant dense<[-5.5, 5.5, 1.0e+30]> : tensor<3xf64>
  %b = stablehlo.constant dense<[2.0, -2.0, 7.0]> : tensor<3xf64>
  %c = stablehlo.remainder %a, %b : tensor<3xf64>
  check.expect_eq_const %c, dense<[-1.5, 1.5, 5.0]> : tensor<3xf64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-4.0]> : tensor<1xf32>
  %b = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %c = stablehlo.remainder %a, %b : tensor<1xf32>
  %bits = stablehlo.bitcast_convert %c : (tensor<1xf32>) -> tensor<1xi32>
  check.expect_eq_const %bits, dense<[-2147483648]> : tensor<1xi32>
  func.return
}
