// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0009765625, 0.5, 1.0, 100.0]> : tensor<6xf32>
  %y = stablehlo.sine %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[-0.14112, -0.47942555, 0.0009765623, 0.47942555, 0.84147096, -0.50636566]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0009765625, 0.5, 1.0, 100.0]> : tensor<6xf64>
  %y = stablehlo.sine %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[-0.1411200080598672, -0.479425538604203, 0.0009765623447795783, 0.479425538604203, 0.8414709848078965, -0.5063656411097588]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.000977, 0.5, 1.0, 100.0]> : tensor<6xf16>
  %y = stablehlo.sine %x : tensor<6xf16>
  %expected = stablehlo.constant dense<[-0.1411, -0.4795, 0.000977, 0.4795, 0.8413, -0.5063]> : tensor<6xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf16>, tensor<6xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.5, 0.0009765625, 0.5, 1.0, 100.0]> : tensor<6xbf16>
  %y = stablehlo.sine %x : tensor<6xbf16>
  %expected = stablehlo.constant dense<[-0.1416015625, -0.478515625, 0.0009765625, 0.478515625, 0.83984375, -0.5078125]> : tensor<6xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xbf16>, tensor<6xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0x7FC00000]> : tensor<2xf32>
  %y = stablehlo.sine %x : tensor<2xf32>
  check.expect_almost_eq_const %y, dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>, tolerance = 0.0
  func.return
}

// -----

// Complex, away from the branch cuts.
func.func @main() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (0.75, -1.5)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.sine %x : tensor<3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.494485780933195, 0.22168816414957482), (-3.165778513216168, 1.9596010414216058), (1.6034935732013758, -1.5579700760145927)]> : tensor<3xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.sine %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}

// -----

// Complex: near zero and far out (values: Python's cmath).
func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 3.0), (-2.0, -3.0), (0.0, 5.0), (1.0e-10, 0.0)]> : tensor<4xcomplex<f64>>
  %y = stablehlo.sine %x : tensor<4xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(8.471645454300148, 5.412680923178193), (-9.15449914691143, 4.168906959966565), (0.0, 74.20321057778875), (1.0e-10, 0.0)]> : tensor<4xcomplex<f64>>, tolerance = 1.0e-13
  func.return
}
