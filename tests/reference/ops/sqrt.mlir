// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.5, 1.0, 2.0, 3.0, 10000.0]> : tensor<6xf32>
  %y = stablehlo.sqrt %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[0.5, 0.70710677, 1.0, 1.4142135, 1.7320508, 100.0]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.5, 1.0, 2.0, 3.0, 10000.0]> : tensor<6xf64>
  %y = stablehlo.sqrt %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[0.5, 0.7071067811865476, 1.0, 1.4142135623730951, 1.7320508075688772, 100.0]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.5, 1.0, 2.0, 3.0]> : tensor<5xf16>
  %y = stablehlo.sqrt %x : tensor<5xf16>
  %expected = stablehlo.constant dense<[0.5, 0.707, 1.0, 1.414, 1.732]> : tensor<5xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.5, 1.0, 2.0, 3.0]> : tensor<5xbf16>
  %y = stablehlo.sqrt %x : tensor<5xbf16>
  %expected = stablehlo.constant dense<[0.5, 0.70703125, 1.0, 1.4140625, 1.734375]> : tensor<5xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, -1.0, 0x7F800000]> : tensor<3xf32>
  %y = stablehlo.sqrt %x : tensor<3xf32>
  check.expect_almost_eq_const %y, dense<[0.0, 0x7FC00000, 0x7F800000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.sqrt %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.7276733451126774, 0.17178037486125622), (0.7861513777574233, 1.272019649514069), (1.1016013305921617, -0.6808270643580653)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.sqrt %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}

// -----

// Complex: on both sides of the branch cut and far out (values: Python's cmath).
func.func @main() {
  %x = stablehlo.constant dense<[(-4.0, 0.0), (-4.0, -0.0), (0.0, 2.0), (0.0, -2.0), (3.0e-300, 4.0e-300), (0xFFF0000000000000, 1.0), (1.0, 0x7FF0000000000000)]> : tensor<7xcomplex<f64>>
  %y = stablehlo.sqrt %x : tensor<7xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.0, 2.0), (0.0, -2.0), (1.0, 1.0), (1.0, -1.0), (2.0e-150, 1.0e-150), (0.0, 0x7FF0000000000000), (0x7FF0000000000000, 0x7FF0000000000000)]> : tensor<7xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}
