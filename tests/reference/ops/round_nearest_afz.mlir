// Values: by hand and NumPy (floor(|x| + 0.5) with the sign of x).

func.func @main() {
  %x = stablehlo.constant dense<[-2.5, -1.5, -0.5, -0.25, 0.25, 0.5, 1.5, 2.5, 3.0]> : tensor<9xf32>
  %y = stablehlo.round_nearest_afz %x : tensor<9xf32>
  %expected = stablehlo.constant dense<[-3.0, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 3.0, 3.0]> : tensor<9xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<9xf32>) -> tensor<9xi32>
  %expected_bits = stablehlo.bitcast_convert %expected : (tensor<9xf32>) -> tensor<9xi32>
  check.expect_eq %bits, %expected_bits : tensor<9xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-2.5, -1.5, -0.5, -0.25, 0.25, 0.5, 1.5, 2.5, 3.0]> : tensor<9xf64>
  %y = stablehlo.round_nearest_afz %x : tensor<9xf64>
  %expected = stablehlo.constant dense<[-3.0, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 3.0, 3.0]> : tensor<9xf64>
  %bits = stablehlo.bitcast_convert %y : (tensor<9xf64>) -> tensor<9xi64>
  %expected_bits = stablehlo.bitcast_convert %expected : (tensor<9xf64>) -> tensor<9xi64>
  check.expect_eq %bits, %expected_bits : tensor<9xi64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-2.5, -1.5, -0.5, -0.25, 0.25, 0.5, 1.5, 2.5, 3.0]> : tensor<9xf16>
  %y = stablehlo.round_nearest_afz %x : tensor<9xf16>
  %expected = stablehlo.constant dense<[-3.0, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 3.0, 3.0]> : tensor<9xf16>
  %bits = stablehlo.bitcast_convert %y : (tensor<9xf16>) -> tensor<9xi16>
  %expected_bits = stablehlo.bitcast_convert %expected : (tensor<9xf16>) -> tensor<9xi16>
  check.expect_eq %bits, %expected_bits : tensor<9xi16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-2.5, -1.5, -0.5, -0.25, 0.25, 0.5, 1.5, 2.5, 3.0]> : tensor<9xbf16>
  %y = stablehlo.round_nearest_afz %x : tensor<9xbf16>
  %expected = stablehlo.constant dense<[-3.0, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, 3.0, 3.0]> : tensor<9xbf16>
  %bits = stablehlo.bitcast_convert %y : (tensor<9xbf16>) -> tensor<9xi16>
  %expected_bits = stablehlo.bitcast_convert %expected : (tensor<9xbf16>) -> tensor<9xi16>
  check.expect_eq %bits, %expected_bits : tensor<9xi16>
  func.return
}

// -----

// A result that is zero keeps the operand's sign (compared as bits).
func.func @main() {
  %x = stablehlo.constant dense<[-0.0, 0.0, -0.25]> : tensor<3xf32>
  %y = stablehlo.round_nearest_afz %x : tensor<3xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<3xf32>) -> tensor<3xi32>
  check.expect_eq_const %bits, dense<[-2147483648, 0, -2147483648]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %y = stablehlo.round_nearest_afz %x : tensor<3xf32>
  check.expect_almost_eq_const %y, dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %y = stablehlo.round_nearest_afz %x : tensor<2x0xf32>
  check.expect_eq_const %y, dense<> : tensor<2x0xf32>
  func.return
}

// -----

// The largest value below one half must not round up.
func.func @main() {
  %x = stablehlo.constant dense<[0.49999997, -0.49999997]> : tensor<2xf32>
  %y = stablehlo.round_nearest_afz %x : tensor<2xf32>
  check.expect_eq_const %y, dense<[0.0, 0.0]> : tensor<2xf32>
  func.return
}
