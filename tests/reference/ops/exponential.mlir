// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[-20.0, -1.0, 0.0, 0.5, 1.0, 10.0]> : tensor<6xf32>
  %y = stablehlo.exponential %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[2.0611537e-09, 0.36787945, 1.0, 1.6487212, 2.7182817, 22026.465]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-20.0, -1.0, 0.0, 0.5, 1.0, 10.0]> : tensor<6xf64>
  %y = stablehlo.exponential %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[2.061153622438558e-09, 0.36787944117144233, 1.0, 1.6487212707001282, 2.718281828459045, 22026.465794806718]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-20.0, -1.0, 0.0, 0.5, 1.0, 10.0]> : tensor<6xf16>
  %y = stablehlo.exponential %x : tensor<6xf16>
  %expected = stablehlo.constant dense<[0.0, 0.368, 1.0, 1.648, 2.719, 2.203e+04]> : tensor<6xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf16>, tensor<6xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-20.0, -1.0, 0.0, 0.5, 1.0, 10.0]> : tensor<6xbf16>
  %y = stablehlo.exponential %x : tensor<6xbf16>
  %expected = stablehlo.constant dense<[2.066371962428093e-09, 0.3671875, 1.0, 1.6484375, 2.71875, 22016.0]> : tensor<6xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xbf16>, tensor<6xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1000.0]> : tensor<4xf32>
  %y = stablehlo.exponential %x : tensor<4xf32>
  check.expect_almost_eq_const %y, dense<[0x7F800000, 0.0, 0x7FC00000, 0x7F800000]> : tensor<4xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.exponential %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(1.5974665191199127, 0.40790017007835977), (-0.15309186567422628, 0.33451182923926226), (0.14975065710566118, -2.111696903211843)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.exponential %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}

// -----

// Complex: near zero and far out (values: Python's cmath).
func.func @main() {
  %x = stablehlo.constant dense<[(0.0, 3.141592653589793), (0xFFF0000000000000, 1.0), (-800.0, 1.0), (1.0, -2.0)]> : tensor<4xcomplex<f64>>
  %y = stablehlo.exponential %x : tensor<4xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(-1.0, 1.2246467991473532e-16), (0.0, 0.0), (0.0, 0.0), (-1.1312043837568135, -2.4717266720048188)]> : tensor<4xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}
