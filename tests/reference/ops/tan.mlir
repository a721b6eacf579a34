// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0009765625, 0.5, 1.0, 1.5]> : tensor<6xf32>
  %y = stablehlo.tan %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[0.14254655, -0.5463025, 0.0009765628, 0.5463025, 1.5574077, 14.10142]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0009765625, 0.5, 1.0, 1.5]> : tensor<6xf64>
  %y = stablehlo.tan %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[0.1425465430742778, -0.5463024898437905, 0.0009765628104409765, 0.5463024898437905, 1.5574077246549023, 14.101419947171719]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.000977, 0.5, 1.0, 1.5]> : tensor<6xf16>
  %y = stablehlo.tan %x : tensor<6xf16>
  %expected = stablehlo.constant dense<[0.1426, -0.5464, 0.000977, 0.5464, 1.558, 14.1]> : tensor<6xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf16>, tensor<6xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0009765625, 0.5, 1.0, 1.5]> : tensor<6xbf16>
  %y = stablehlo.tan %x : tensor<6xbf16>
  %expected = stablehlo.constant dense<[0.142578125, -0.546875, 0.0009765625, 0.546875, 1.5546875, 14.125]> : tensor<6xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xbf16>, tensor<6xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0x7FC00000]> : tensor<2xf32>
  %y = stablehlo.tan %x : tensor<2xf32>
  check.expect_almost_eq_const %y, dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.tan %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.504500702698564, 0.3124206925025888), (-0.03381282607989669, 1.0147936161466335), (0.0983878191396714, -0.9881121005704792)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.tan %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}

// -----

// Complex: near zero and far out (values: Python's cmath).
func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 400.0), (1.0, -400.0), (0.5, 0.0)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.tan %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.0, 1.0), (0.0, -1.0), (0.5463024898437905, 0.0)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}
