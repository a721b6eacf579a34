// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 100.0]> : tensor<6xf32>
  %y = stablehlo.cosine %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[-0.9899925, 0.87758255, 1.0, 0.87758255, 0.5403023, 0.8623189]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 100.0]> : tensor<6xf64>
  %y = stablehlo.cosine %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[-0.9899924966004454, 0.8775825618903728, 1.0, 0.8775825618903728, 0.5403023058681398, 0.8623188722876839]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 100.0]> : tensor<6xf16>
  %y = stablehlo.cosine %x : tensor<6xf16>
  %expected = stablehlo.constant dense<[-0.99, 0.8774, 1.0, 0.8774, 0.5405, 0.8623]> : tensor<6xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf16>, tensor<6xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0, 0.5, 1.0, 100.0]> : tensor<6xbf16>
  %y = stablehlo.cosine %x : tensor<6xbf16>
  %expected = stablehlo.constant dense<[-0.98828125, 0.87890625, 1.0, 0.87890625, 0.5390625, 0.86328125]> : tensor<6xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xbf16>, tensor<6xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0x7FC00000]> : tensor<2xf32>
  %y = stablehlo.cosine %x : tensor<2xf32>
  check.expect_almost_eq_const %y, dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.cosine %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.9051501505596067, -0.12110879604381165), (2.0327230070196656, 3.0518977991518), (1.721231930505232, 1.451399407513992)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.cosine %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}

// -----

// Complex: near zero and far out (values: Python's cmath).
func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 3.0), (-2.0, -3.0), (0.0, 5.0)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.cosine %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(5.439580991019764, -8.429751080849945), (-4.189625690968807, -9.109227893755337), (74.20994852478785, 0.0)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-13
  func.return
}
