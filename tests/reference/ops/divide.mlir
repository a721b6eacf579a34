// Values: NumPy in the element type, and by hand for the edges.
// Integer division truncates toward zero.

func.func @main() {
  %a = stablehlo.constant dense<[7, -7, 7, -7]> : tensor<4xi32>
  %b = stablehlo.constant dense<[2, 2, -2, -2]> : tensor<4xi32>
  %c = stablehlo.divide %a, %b : tensor<4xi32>
  check.expect_eq_const %c, dense<[3, -3, -3, 3]> : tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[255, 250]> : tensor<2xui8>
  %b = stablehlo.constant dense<[2, 7]> : tensor<2xui8>
  %c = stablehlo.divide %a, %b : tensor<2xui8>
  check.expect_eq_const %c, dense<[127, 35]> : tensor<2xui8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf32>
  %c = stablehlo.divide %a, %b : tensor<5xf32>
  check.expect_eq_const %c, dense<[5.0, -0.5625, 0.5, 999999.94, -0.42857143]> : tensor<5xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf64>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf64>
  %c = stablehlo.divide %a, %b : tensor<5xf64>
  check.expect_eq_const %c, dense<[5.0, -0.5625, 0.5, 1000000.0, -0.42857142857142855]> : tensor<5xf64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1.0e+03, 3.0]> : tensor<5xf16>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf16>
  %c = stablehlo.divide %a, %b : tensor<5xf16>
  check.expect_eq_const %c, dense<[5.0, -0.5625, 0.5, 0x7C00, -0.4285]> : tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.10009765625, 1000.0, 3.0]> : tensor<5xbf16>
  %b = stablehlo.constant dense<[0.30078125, 4.0, 0.2001953125, 0.00099945068359375, -7.0]> : tensor<5xbf16>
  %c = stablehlo.divide %a, %b : tensor<5xbf16>
  check.expect_eq_const %c, dense<[5.0, -0.5625, 0.5, 999424.0, -0.427734375]> : tensor<5xbf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.0, -1.0, 0.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[0.0, 0.0, 0.0]> : tensor<3xf32>
  %c = stablehlo.divide %a, %b : tensor<3xf32>
  check.expect_almost_eq_const %c, dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[(11.0, 2.0), (-5.0, 10.0)]> : tensor<2xcomplex<f64>>
  %b = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f64>>
  %c = stablehlo.divide %a, %b : tensor<2xcomplex<f64>>
  check.expect_almost_eq_const %c, dense<[(3.0, -4.0), (1.0, 2.0)]> : tensor<2xcomplex<f64>>, tolerance = 1.0e-15
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xf32>
  %b = stablehlo.constant dense<> : tensor<0x2xf32>
  %c = stablehlo.divide %a, %b : tensor<0x2xf32>
  check.expect_eq_const %c, dense<> : tensor<0x2xf32>
  func.return
}
