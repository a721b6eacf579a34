// Values: by hand. Ties go to the even mantissa.

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 1.125, 1.375, 1.3]> : tensor<4xf32>
  %y = stablehlo.reduce_precision %x, format = e8m2 : (tensor<4xf32>) -> tensor<4xf32>
  check.expect_eq_const %y, dense<[1.0, 1.0, 1.5, 1.25]> : tensor<4xf32>
  func.return
}

// -----

// Five exponent bits: more than 65504 rounds to infinity, below the smallest normal 2^-14 to zero.
func.func @main() {
  %x = stablehlo.constant dense<[65504.0, 65520.0, 70000.0, 3.0e-05, 6.1035156e-05]> : tensor<5xf32>
  %y = stablehlo.reduce_precision %x, format = e5m10 : (tensor<5xf32>) -> tensor<5xf32>
  check.expect_eq_const %y, dense<[65504.0, 0x7F800000, 0x7F800000, 0.0, 6.1035156e-05]> : tensor<5xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0009766, -3.14159]> : tensor<2xf32>
  %y = stablehlo.reduce_precision %x, format = e8m7 : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[1.0, -3.140625]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.1]> : tensor<1xf64>
  %y = stablehlo.reduce_precision %x, format = e11m52 : (tensor<1xf64>) -> tensor<1xf64>
  check.expect_eq_const %y, dense<[1.1]> : tensor<1xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0x7FC00000]> : tensor<1xf32>
  %y = stablehlo.reduce_precision %x, format = e5m10 : tensor<1xf32>
  check.expect_almost_eq_const %y, dense<[0x7FC00000]> : tensor<1xf32>, tolerance = 0.0
  func.return
}
