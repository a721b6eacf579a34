// Values: mpmath with 300 bits; edges by the IEEE rules.

func.func @main() {
  %a = stablehlo.constant dense<[1.0, 1.0, -1.0, -1.0, 0.5, -3.0]> : tensor<6xf32>
  %b = stablehlo.constant dense<[1.0, -1.0, 1.0, -1.0, 2.0, 0.25]> : tensor<6xf32>
  %c = stablehlo.atan2 %a, %b : tensor<6xf32>
  %expected = stablehlo.constant dense<[0.7853982, 2.3561945, -0.7853982, -2.3561945, 0.24497867, -1.487655]> : tensor<6xf32>
  check.expect_close %c, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.0, 1.0, -1.0, -1.0, 0.5, -3.0]> : tensor<6xf64>
  %b = stablehlo.constant dense<[1.0, -1.0, 1.0, -1.0, 2.0, 0.25]> : tensor<6xf64>
  %c = stablehlo.atan2 %a, %b : tensor<6xf64>
  %expected = stablehlo.constant dense<[0.7853981633974483, 2.356194490192345, -0.7853981633974483, -2.356194490192345, 0.24497866312686414, -1.4876550949064553]> : tensor<6xf64>
  check.expect_close %c, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.0, 1.0, -1.0, -1.0, 0.5, -3.0]> : tensor<6xf16>
  %b = stablehlo.constant dense<[1.0, -1.0, 1.0, -1.0, 2.0, 0.25]> : tensor<6xf16>
  %c = stablehlo.atan2 %a, %b : tensor<6xf16>
  %expected = stablehlo.constant dense<[0.785, 2.355, -0.785, -2.355, 0.245, -1.487]> : tensor<6xf16>
  check.expect_close %c, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf16>, tensor<6xf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.0, 1.0, -1.0, -1.0, 0.5, -3.0]> : tensor<6xbf16>
  %b = stablehlo.constant dense<[1.0, -1.0, 1.0, -1.0, 2.0, 0.25]> : tensor<6xbf16>
  %c = stablehlo.atan2 %a, %b : tensor<6xbf16>
  %expected = stablehlo.constant dense<[0.78515625, 2.359375, -0.78515625, -2.359375, 0.2451171875, -1.484375]> : tensor<6xbf16>
  check.expect_close %c, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xbf16>, tensor<6xbf16>
  func.return
}

// -----

// Zeros and infinities: the quadrant is decided by the signs.
func.func @main() {
  %a = stablehlo.constant dense<[0.0, -0.0, 0.0, -0.0, 0x7FF0000000000000, 1.0, 0x7FF0000000000000]> : tensor<7xf64>
  %b = stablehlo.constant dense<[-1.0, -1.0, 1.0, 1.0, 1.0, 0xFFF0000000000000, 0x7FF0000000000000]> : tensor<7xf64>
  %c = stablehlo.atan2 %a, %b : tensor<7xf64>
  %expected = stablehlo.constant dense<[3.141592653589793, -3.141592653589793, 0.0, 0.0, 1.5707963267948966, 3.141592653589793, 0.7853981633974483]> : tensor<7xf64>
  check.expect_close %c, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<7xf64>, tensor<7xf64>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xf32>
  %b = stablehlo.constant dense<> : tensor<0x2xf32>
  %c = stablehlo.atan2 %a, %b : tensor<0x2xf32>
  check.expect_eq_const %c, dense<> : tensor<0x2xf32>
  func.return
}
