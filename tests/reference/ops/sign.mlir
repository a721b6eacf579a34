// Values: by hand. A complex number gives x / |x|.

func.func @main() {
  %x = stablehlo.constant dense<[-7, 0, 7, -2147483648]> : tensor<4xi32>
  %y = stablehlo.sign %x : tensor<4xi32>
  check.expect_eq_const %y, dense<[-1, 0, 1, -1]> : tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-0.0, 0.0, -3.0, 0x7F800000]> : tensor<4xf32>
  %y = stablehlo.sign %x : tensor<4xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %bits, dense<[-2147483648, 0, -1082130432, 1065353216]> : tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0x7FF8000000000000, 0xFFF0000000000000]> : tensor<2xf64>
  %y = stablehlo.sign %x : tensor<2xf64>
  check.expect_almost_eq_const %y, dense<[0x7FF8000000000000, -1.0]> : tensor<2xf64>, tolerance = 0.0
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(3.0, 4.0), (-0.0, -8.0), (0.0, 0.0)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.sign %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.6, 0.8), (0.0, -1.0), (0.0, 0.0)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-15
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %y = stablehlo.sign %x : tensor<2x0xf32>
  check.expect_eq_const %y, dense<> : tensor<2x0xf32>
  func.return
}
