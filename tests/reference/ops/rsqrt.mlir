// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.5, 1.0, 2.0, 3.0, 10000.0]> : tensor<6xf32>
  %y = stablehlo.rsqrt %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[2.0, 1.4142135, 1.0, 0.70710677, 0.57735026, 0.01]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.5, 1.0, 2.0, 3.0, 10000.0]> : tensor<6xf64>
  %y = stablehlo.rsqrt %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[2.0, 1.4142135623730951, 1.0, 0.7071067811865476, 0.5773502691896257, 0.01]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.5, 1.0, 2.0, 3.0]> : tensor<5xf16>
  %y = stablehlo.rsqrt %x : tensor<5xf16>
  %expected = stablehlo.constant dense<[2.0, 1.414, 1.0, 0.707, 0.577]> : tensor<5xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.5, 1.0, 2.0, 3.0]> : tensor<5xbf16>
  %y = stablehlo.rsqrt %x : tensor<5xbf16>
  %expected = stablehlo.constant dense<[2.0, 1.4140625, 1.0, 0.70703125, 0.578125]> : tensor<5xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, -1.0, 0x7F800000]> : tensor<3xf32>
  %y = stablehlo.rsqrt %x : tensor<3xf32>
  check.expect_almost_eq_const %y, dense<[0x7F800000, 0x7FC00000, 0.0]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.rsqrt %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(1.3017016520692888, -0.30729007631213195), (0.3515775842541429, -0.5688644810057831), (0.6568681224822113, 0.4059668258203355)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.rsqrt %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}
