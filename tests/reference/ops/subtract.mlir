// Values: NumPy in the element type, and by hand for the edges.

func.func @main() {
  %a = stablehlo.constant dense<[1, -128, 127]> : tensor<3xi8>
  %b = stablehlo.constant dense<[2, 1, -1]> : tensor<3xi8>
  %c = stablehlo.subtract %a, %b : tensor<3xi8>
  check.expect_eq_const %c, dense<[-1, 127, -128]> : tensor<3xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0, 5]> : tensor<2xui32>
  %b = stablehlo.constant dense<[1, 3]> : tensor<2xui32>
  %c = stablehlo.subtract %a, %b : tensor<2xui32>
  check.expect_eq_const %c, dense<[4294967295, 2]> : tensor<2xui32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf32>
  %c = stablehlo.subtract %a, %b : tensor<5xf32>
  check.expect_eq_const %c, dense<[1.2, -6.25, -0.1, 999.999, 10.0]> : tensor<5xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf64>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf64>
  %c = stablehlo.subtract %a, %b : tensor<5xf64>
  check.expect_eq_const %c, dense<[1.2, -6.25, -0.1, 999.999, 10.0]> : tensor<5xf64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1.0e+03, 3.0]> : tensor<5xf16>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf16>
  %c = stablehlo.subtract %a, %b : tensor<5xf16>
  check.expect_eq_const %c, dense<[1.2, -6.25, -0.1, 1.0e+03, 10.0]> : tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.10009765625, 1000.0, 3.0]> : tensor<5xbf16>
  %b = stablehlo.constant dense<[0.30078125, 4.0, 0.2001953125, 0.00099945068359375, -7.0]> : tensor<5xbf16>
  %c = stablehlo.subtract %a, %b : tensor<5xbf16>
  check.expect_eq_const %c, dense<[1.203125, -6.25, -0.10009765625, 1000.0, 10.0]> : tensor<5xbf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f64>>
  %b = stablehlo.constant dense<[(0.5, 5.0)]> : tensor<1xcomplex<f64>>
  %c = stablehlo.subtract %a, %b : tensor<1xcomplex<f64>>
  check.expect_eq_const %c, dense<[(0.5, -3.0)]> : tensor<1xcomplex<f64>>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0x7F800000, 0x7FC00000]> : tensor<2xf32>
  %b = stablehlo.constant dense<[0x7F800000, 1.0]> : tensor<2xf32>
  %c = stablehlo.subtract %a, %b : tensor<2xf32>
  check.expect_almost_eq_const %c, dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>, tolerance = 0.0
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xf32>
  %b = stablehlo.constant dense<> : tensor<0x2xf32>
  %c = stablehlo.subtract %a, %b : tensor<0x2xf32>
  check.expect_eq_const %c, dense<> : tensor<0x2xf32>
  func.return
}
