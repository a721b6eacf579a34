// Trap: overflow gives infinity, what would be subnormal in the small format gives a zero with its sign, NaN stays, but with no mantissa bits NaN becomes infinity.

func.func @main() {
  %x = stablehlo.constant dense<[65520.0, -1.0e+30]> : tensor<2xf32>
  %y = stablehlo.reduce_precision %x, format = e5m10 : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[0x7F800000, 0xFF800000]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[3.0e-05, -3.0e-05]> : tensor<2xf32>
  %y = stablehlo.reduce_precision %x, format = e5m10 : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %bits, dense<[0, -2147483648]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0x7FC00000]> : tensor<1xf32>
  %y = stablehlo.reduce_precision %x, format = e8m7 : tensor<1xf32>
  check.expect_almost_eq_const %y, dense<[0x7FC00000]> : tensor<1xf32>, tolerance = 0.0
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0x7FC00000]> : tensor<1xf32>
  %y = stablehlo.reduce_precision %x, format = e8m0 : (tensor<1xf32>) -> tensor<1xf32>
  check.expect_eq_const %y, dense<[0x7F800000]> : tensor<1xf32>
  func.return
}

// -----

// Subnormals lose bits of their fraction, the ones that the type has: 0x01C8 is 0111001000 and keeps six of them, 011100 with the
// tie to even; that f32 could hold the number with a leading one is no matter. Values: by hand.
func.func @main() {
  %x = stablehlo.constant dense<[0x01C8, 0x81C9, 0x0001, 0x03FF]> : tensor<4xf16>
  %y = stablehlo.reduce_precision %x, format = e7m6 : tensor<4xf16>
  %bits = stablehlo.bitcast_convert %y : (tensor<4xf16>) -> tensor<4xi16>
  check.expect_eq_const %bits, dense<[448, -32304, 0, 1024]> : tensor<4xi16>
  %z = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf16>
  %same = stablehlo.bitcast_convert %z : (tensor<4xf16>) -> tensor<4xi16>
  check.expect_eq_const %same, dense<[456, -32311, 1, 1023]> : tensor<4xi16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0x00390000, 0x80380000]> : tensor<2xf32>
  %y = stablehlo.reduce_precision %x, format = e8m6 : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %bits, dense<[3670016, -2143813632]> : tensor<2xi32>
  func.return
}
