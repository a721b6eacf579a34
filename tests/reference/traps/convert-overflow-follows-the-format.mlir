// Trap: a value too large becomes infinity, or NaN in formats without infinity.

func.func @main() {
  %x = stablehlo.constant dense<[1.0e+39]> : tensor<1xf64>
  %y = stablehlo.convert %x : (tensor<1xf64>) -> tensor<1xf32>
  check.expect_eq_const %y, dense<[0x7F800000]> : tensor<1xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[70000.0]> : tensor<1xf32>
  %y = stablehlo.convert %x : (tensor<1xf32>) -> tensor<1xf16>
  check.expect_eq_const %y, dense<[0x7C00]> : tensor<1xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1000.0, 464.0, 465.0]> : tensor<3xf32>
  %y = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xf8E4M3FN>
  %z = stablehlo.convert %y : (tensor<3xf8E4M3FN>) -> tensor<3xf32>
  check.expect_almost_eq_const %z, dense<[0x7FC00000, 448.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0e+06]> : tensor<1xf32>
  %y = stablehlo.convert %x : (tensor<1xf32>) -> tensor<1xf8E5M2>
  %z = stablehlo.convert %y : (tensor<1xf8E5M2>) -> tensor<1xf32>
  check.expect_almost_eq_const %z, dense<[0x7F800000]> : tensor<1xf32>, tolerance = 0.0
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1000.0]> : tensor<1xf32>
  %y = stablehlo.convert %x : (tensor<1xf32>) -> tensor<1xf8E4M3FNUZ>
  %z = stablehlo.convert %y : (tensor<1xf8E4M3FNUZ>) -> tensor<1xf32>
  check.expect_almost_eq_const %z, dense<[0x7FC00000]> : tensor<1xf32>, tolerance = 0.0
  func.return
}
