// Values: mpmath with 300 bits, rounded to the element type.
// Three units are allowed: each step of 1 / (1 + exp(-x)) may be rounded.

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 20.0]> : tensor<6xf32>
  %y = stablehlo.logistic %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[0.047425874, 0.37754068, 0.5, 0.62245935, 0.7310586, 1.0]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 20.0]> : tensor<6xf64>
  %y = stablehlo.logistic %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[0.04742587317756678, 0.37754066879814546, 0.5, 0.6224593312018546, 0.7310585786300049, 0.9999999979388464]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 20.0]> : tensor<6xf16>
  %y = stablehlo.logistic %x : tensor<6xf16>
  %expected = stablehlo.constant dense<[0.04742, 0.3774, 0.5, 0.6226, 0.731, 1.0]> : tensor<6xf16>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<6xf16>, tensor<6xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 20.0]> : tensor<6xbf16>
  %y = stablehlo.logistic %x : tensor<6xbf16>
  %expected = stablehlo.constant dense<[0.04736328125, 0.376953125, 0.5, 0.62109375, 0.73046875, 1.0]> : tensor<6xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<6xbf16>, tensor<6xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %y = stablehlo.logistic %x : tensor<3xf32>
  check.expect_almost_eq_const %y, dense<[1.0, 0.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.logistic %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.6242751644199612, 0.05900296431450802), (-0.021415364172180543, 0.4034387060815425), (0.8011221598620164, -0.36527025798276636)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.logistic %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}
