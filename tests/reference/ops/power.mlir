// Values: mpmath with 300 bits; integers by hand; edges by IEEE pow.

func.func @main() {
  %a = stablehlo.constant dense<[2.0, 0.5, 10.0, 3.0, 1.5]> : tensor<5xf32>
  %b = stablehlo.constant dense<[10.0, -2.0, -3.0, 0.5, 2.5]> : tensor<5xf32>
  %c = stablehlo.power %a, %b : tensor<5xf32>
  %expected = stablehlo.constant dense<[1024.0, 4.0, 0.001, 1.7320508, 2.755676]> : tensor<5xf32>
  check.expect_close %c, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[2.0, 0.5, 10.0, 3.0, 1.5]> : tensor<5xf64>
  %b = stablehlo.constant dense<[10.0, -2.0, -3.0, 0.5, 2.5]> : tensor<5xf64>
  %c = stablehlo.power %a, %b : tensor<5xf64>
  %expected = stablehlo.constant dense<[1024.0, 4.0, 0.001, 1.7320508075688772, 2.7556759606310752]> : tensor<5xf64>
  check.expect_close %c, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[2.0, 0.5, 10.0, 3.0, 1.5]> : tensor<5xf16>
  %b = stablehlo.constant dense<[10.0, -2.0, -3.0, 0.5, 2.5]> : tensor<5xf16>
  %c = stablehlo.power %a, %b : tensor<5xf16>
  %expected = stablehlo.constant dense<[1.024e+03, 4.0, 0.001, 1.732, 2.756]> : tensor<5xf16>
  check.expect_close %c, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[2.0, 0.5, 10.0, 3.0, 1.5]> : tensor<5xbf16>
  %b = stablehlo.constant dense<[10.0, -2.0, -3.0, 0.5, 2.5]> : tensor<5xbf16>
  %c = stablehlo.power %a, %b : tensor<5xbf16>
  %expected = stablehlo.constant dense<[1024.0, 4.0, 0.00099945068359375, 1.734375, 2.75]> : tensor<5xbf16>
  check.expect_close %c, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[2, -3, 7, 0, 5]> : tensor<5xi32>
  %b = stablehlo.constant dense<[10, 3, 0, 0, 1]> : tensor<5xi32>
  %c = stablehlo.power %a, %b : tensor<5xi32>
  check.expect_eq_const %c, dense<[1024, -27, 1, 1, 5]> : tensor<5xi32>
  func.return
}

// -----

// Integers wrap; a negative exponent gives zero except for the bases 1 and -1.
func.func @main() {
  %a = stablehlo.constant dense<[3, 2, 1, -1, -1, 2]> : tensor<6xi8>
  %b = stablehlo.constant dense<[6, 7, -5, -3, -4, -1]> : tensor<6xi8>
  %c = stablehlo.power %a, %b : tensor<6xi8>
  check.expect_eq_const %c, dense<[-39, -128, 1, -1, 1, 0]> : tensor<6xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-2.0, -8.0, 0.0, 0x7FF0000000000000, 0x7FF8000000000000, 1.0]> : tensor<6xf64>
  %b = stablehlo.constant dense<[3.0, 0.3333333333333333, -1.0, 0.0, 0.0, 0x7FF8000000000000]> : tensor<6xf64>
  %c = stablehlo.power %a, %b : tensor<6xf64>
  check.expect_almost_eq_const %c, dense<[-8.0, 0x7FF8000000000000, 0x7FF0000000000000, 1.0, 1.0, 1.0]> : tensor<6xf64>, tolerance = 0.0
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f64>>
  %b = stablehlo.constant dense<[(2.0, 0.0)]> : tensor<1xcomplex<f64>>
  %c = stablehlo.power %a, %b : tensor<1xcomplex<f64>>
  check.expect_almost_eq_const %c, dense<[(-3.0, 4.0)]> : tensor<1xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xf32>
  %b = stablehlo.constant dense<> : tensor<0x2xf32>
  %c = stablehlo.power %a, %b : tensor<0x2xf32>
  check.expect_eq_const %c, dense<> : tensor<0x2xf32>
  func.return
}
