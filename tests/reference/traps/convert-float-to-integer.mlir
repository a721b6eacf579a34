// Trap: float to integer goes toward zero, saturates, and makes 0 of NaN.

func.func @main() {
  %x = stablehlo.constant dense<[-1.9, 1.0e+20, -1.0e+20, 0x7FC00000]> : tensor<4xf32>
  %y = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi64>
  check.expect_eq_const %y, dense<[-1, 9223372036854775807, -9223372036854775808, 0]> : tensor<4xi64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[300.0, -300.0, 0x7FC0, -0.8984375]> : tensor<4xbf16>
  %y = stablehlo.convert %x : (tensor<4xbf16>) -> tensor<4xi8>
  check.expect_eq_const %y, dense<[127, -128, 0, 0]> : tensor<4xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-1.0, 10000000000.0]> : tensor<2xf64>
  %y = stablehlo.convert %x : (tensor<2xf64>) -> tensor<2xui32>
  check.expect_eq_const %y, dense<[0, 4294967295]> : tensor<2xui32>
  func.return
}
