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
