// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[0.0009765625, 0.5, 1.0, 3.0, 10.0, 100000.0]> : tensor<6xf32>
  %y = stablehlo.log %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[-6.931472, -0.6931472, 0.0, 1.0986123, 2.3025851, 11.512925]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.0009765625, 0.5, 1.0, 3.0, 10.0, 100000.0]> : tensor<6xf64>
  %y = stablehlo.log %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[-6.931471805599453, -0.6931471805599453, 0.0, 1.0986122886681098, 2.302585092994046, 11.512925464970229]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.000977, 0.5, 1.0, 3.0, 10.0]> : tensor<5xf16>
  %y = stablehlo.log %x : tensor<5xf16>
  %expected = stablehlo.constant dense<[-6.93, -0.6934, 0.0, 1.099, 2.303]> : tensor<5xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.0009765625, 0.5, 1.0, 3.0, 10.0]> : tensor<5xbf16>
  %y = stablehlo.log %x : tensor<5xbf16>
  %expected = stablehlo.constant dense<[-6.9375, -0.69140625, 0.0, 1.1015625, 2.296875]> : tensor<5xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, -1.0, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  %y = stablehlo.log %x : tensor<4xf32>
  check.expect_almost_eq_const %y, dense<[0xFF800000, 0x7FC00000, 0x7F800000, 0x7FC00000]> : tensor<4xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.log %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(-0.5815754049028404, 0.4636476090008061), (0.8047189562170501, 2.0344439357957027), (0.5170368837652692, -1.1071487177940904)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.log %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}

// -----

// Complex: on both sides of the branch cut and far out (values: Python's cmath).
func.func @main() {
  %x = stablehlo.constant dense<[(-1.0, 0.0), (-1.0, -0.0), (-2.5, 0.0), (-2.5, -0.0), (1.0e-200, 1.0e-200), (1.0e+200, 1.0e+200)]> : tensor<6xcomplex<f64>>
  %y = stablehlo.log %x : tensor<6xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.0, 3.141592653589793), (0.0, -3.141592653589793), (0.9162907318741551, 3.141592653589793), (0.9162907318741551, -3.141592653589793), (-460.17044500852916, 0.7853981633974483), (460.8635921890891, 0.7853981633974483)]> : tensor<6xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}
