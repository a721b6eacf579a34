// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[0.0, -1.5, 0x7F800000, 0xFF800000, 0x7FC00000, 60000.0]> : tensor<6xf32>
  %y = stablehlo.is_finite %x : (tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %y, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.0, -1.5, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 60000.0]> : tensor<6xf64>
  %y = stablehlo.is_finite %x : (tensor<6xf64>) -> tensor<6xi1>
  check.expect_eq_const %y, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.0, -1.5, 0x7C00, 0xFC00, 0x7E00, 6.0e+04]> : tensor<6xf16>
  %y = stablehlo.is_finite %x : (tensor<6xf16>) -> tensor<6xi1>
  check.expect_eq_const %y, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.0, -1.5, 0x7F80, 0xFF80, 0x7FC0, 59904.0]> : tensor<6xbf16>
  %y = stablehlo.is_finite %x : (tensor<6xbf16>) -> tensor<6xi1>
  check.expect_eq_const %y, dense<[true, true, false, false, false, true]> : tensor<6xi1>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %y = stablehlo.is_finite %x : (tensor<2x0xf32>) -> tensor<2x0xi1>
  check.expect_eq_const %y, dense<> : tensor<2x0xi1>
  func.return
}
