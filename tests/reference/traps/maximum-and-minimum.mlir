// Trap: maximum and minimum hand NaN on, from either side, and order -0 below +0.

func.func @main() {
  %a = stablehlo.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %c = stablehlo.maximum %a, %b : tensor<2xf32>
  check.expect_almost_eq_const %c, dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>, tolerance = 0.0
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0x7FC0, 1.0]> : tensor<2xbf16>
  %b = stablehlo.constant dense<[1.0, 0x7FC0]> : tensor<2xbf16>
  %c = stablehlo.minimum %a, %b : tensor<2xbf16>
  check.expect_almost_eq_const %c, dense<[0x7FC0, 0x7FC0]> : tensor<2xbf16>, tolerance = 0.0
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-0.0, 0.0]> : tensor<2xf64>
  %b = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf64>
  %c = stablehlo.maximum %a, %b : tensor<2xf64>
  %bits = stablehlo.bitcast_convert %c : (tensor<2xf64>) -> tensor<2xi64>
  check.expect_eq_const %bits, dense<[0, 0]> : tensor<2xi64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-0.0, 0.0]> : tensor<2xf16>
  %b = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf16>
  %c = stablehlo.minimum %a, %b : tensor<2xf16>
  %bits = stablehlo.bitcast_convert %c : (tensor<2xf16>) -> tensor<2xi16>
  check.expect_eq_const %bits, dense<[-32768, -32768]> : tensor<2xi16>
  func.return
}
