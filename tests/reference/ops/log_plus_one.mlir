// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[-0.5, -0.0009765625, 0.0009765625, 1.0, 3.0, 100000.0]> : tensor<6xf32>
  %y = stablehlo.log_plus_one %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[-0.6931472, -0.0009770397, 0.00097608595, 0.6931472, 1.3862944, 11.512936]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-0.5, -0.0009765625, 0.0009765625, 1.0, 3.0, 100000.0]> : tensor<6xf64>
  %y = stablehlo.log_plus_one %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[-0.6931471805599453, -0.0009770396478266127, 0.0009760859730554589, 0.6931471805599453, 1.3862943611198906, 11.51293546492023]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-0.5, -0.000977, 0.000977, 1.0, 3.0]> : tensor<5xf16>
  %y = stablehlo.log_plus_one %x : tensor<5xf16>
  %expected = stablehlo.constant dense<[-0.6934, -0.0009775, 0.000976, 0.6934, 1.387]> : tensor<5xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-0.5, -0.0009765625, 0.0009765625, 1.0, 3.0]> : tensor<5xbf16>
  %y = stablehlo.log_plus_one %x : tensor<5xbf16>
  %expected = stablehlo.constant dense<[-0.69140625, -0.0009765625, 0.0009765625, 0.69140625, 1.3828125]> : tensor<5xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[-1.0, -2.0, 0x7F800000]> : tensor<3xf32>
  %y = stablehlo.log_plus_one %x : tensor<3xf32>
  check.expect_almost_eq_const %y, dense<[0xFF800000, 0x7FC00000, 0x7F800000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.log_plus_one %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.4191645952022216, 0.16514867741462683), (0.6931471805599453, 1.5707963267948966), (0.8350312671252677, -0.7086262721276703)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.log_plus_one %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}
