// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0009765625, 0.5, 1.0, 20.0]> : tensor<6xf32>
  %y = stablehlo.tanh %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[-0.9950548, -0.46211717, 0.0009765622, 0.46211717, 0.7615942, 1.0]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0009765625, 0.5, 1.0, 20.0]> : tensor<6xf64>
  %y = stablehlo.tanh %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[-0.9950547536867305, -0.46211715726000974, 0.0009765621895592603, 0.46211715726000974, 0.7615941559557649, 1.0]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.000977, 0.5, 1.0, 20.0]> : tensor<6xf16>
  %y = stablehlo.tanh %x : tensor<6xf16>
  %expected = stablehlo.constant dense<[-0.995, -0.4622, 0.000977, 0.4622, 0.7617, 1.0]> : tensor<6xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf16>, tensor<6xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0009765625, 0.5, 1.0, 20.0]> : tensor<6xbf16>
  %y = stablehlo.tanh %x : tensor<6xbf16>
  %expected = stablehlo.constant dense<[-0.99609375, -0.462890625, 0.0009765625, 0.462890625, 0.76171875, 1.0]> : tensor<6xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xbf16>, tensor<6xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %y = stablehlo.tanh %x : tensor<3xf32>
  check.expect_almost_eq_const %y, dense<[1.0, -1.0, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.tanh %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.48548728102413535, 0.19805544995134952), (-1.16673625724092, -0.24345820118572525), (1.5628689818694737, -0.10358061868779705)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.tanh %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}

// -----

// Complex: near zero and far out (values: Python's cmath).
func.func @main() {
  %x = stablehlo.constant dense<[(400.0, 1.0), (-400.0, 1.0), (0.0, 1.0), (1.0e-10, 1.0e-10), (0x7FF0000000000000, 1.0)]> : tensor<5xcomplex<f64>>
  %y = stablehlo.tanh %x : tensor<5xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(1.0, 0.0), (-1.0, 0.0), (0.0, 1.5574077246549023), (1.0e-10, 1.0e-10), (1.0, 0.0)]> : tensor<5xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}
