// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[-20.0, -1.0, 0.0009765625, 0.5, 1.0, 10.0]> : tensor<6xf32>
  %y = stablehlo.exponential_minus_one %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[-1.0, -0.63212055, 0.0009770395, 0.6487213, 1.7182819, 22025.465]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-20.0, -1.0, 0.0009765625, 0.5, 1.0, 10.0]> : tensor<6xf64>
  %y = stablehlo.exponential_minus_one %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[-0.9999999979388464, -0.6321205588285577, 0.0009770394924165351, 0.6487212707001282, 1.7182818284590453, 22025.465794806718]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-20.0, -1.0, 0.000977, 0.5, 1.0, 10.0]> : tensor<6xf16>
  %y = stablehlo.exponential_minus_one %x : tensor<6xf16>
  %expected = stablehlo.constant dense<[-1.0, -0.6323, 0.0009775, 0.649, 1.719, 2.203e+04]> : tensor<6xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf16>, tensor<6xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-20.0, -1.0, 0.0009765625, 0.5, 1.0, 10.0]> : tensor<6xbf16>
  %y = stablehlo.exponential_minus_one %x : tensor<6xbf16>
  %expected = stablehlo.constant dense<[-1.0, -0.6328125, 0.0009765625, 0.6484375, 1.71875, 22016.0]> : tensor<6xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xbf16>, tensor<6xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %y = stablehlo.exponential_minus_one %x : tensor<3xf32>
  check.expect_almost_eq_const %y, dense<[0x7F800000, -1.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.exponential_minus_one %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.5974665191199127, 0.40790017007835977), (-1.1530918656742264, 0.33451182923926226), (-0.8502493428943388, -2.111696903211843)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.exponential_minus_one %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}
