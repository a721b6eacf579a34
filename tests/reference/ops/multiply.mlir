// Values: NumPy in the element type, and by hand for the edges.

func.func @main() {
  %a = stablehlo.constant dense<[7, -2, 64, -128]> : tensor<4xi8>
  %b = stablehlo.constant dense<[3, 5, 2, -1]> : tensor<4xi8>
  %c = stablehlo.multiply %a, %b : tensor<4xi8>
  check.expect_eq_const %c, dense<[21, -10, -128, -128]> : tensor<4xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[16, 255]> : tensor<2xui8>
  %b = stablehlo.constant dense<[16, 255]> : tensor<2xui8>
  %c = stablehlo.multiply %a, %b : tensor<2xui8>
  check.expect_eq_const %c, dense<[0, 1]> : tensor<2xui8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf32>
  %c = stablehlo.multiply %a, %b : tensor<5xf32>
  check.expect_eq_const %c, dense<[0.45000002, -9.0, 0.020000001, 1.0, -21.0]> : tensor<5xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf64>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf64>
  %c = stablehlo.multiply %a, %b : tensor<5xf64>
  check.expect_eq_const %c, dense<[0.44999999999999996, -9.0, 0.020000000000000004, 1.0, -21.0]> : tensor<5xf64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1.0e+03, 3.0]> : tensor<5xf16>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf16>
  %c = stablehlo.multiply %a, %b : tensor<5xf16>
  check.expect_eq_const %c, dense<[0.4502, -9.0, 0.01999, 1.0, -21.0]> : tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.10009765625, 1000.0, 3.0]> : tensor<5xbf16>
  %b = stablehlo.constant dense<[0.30078125, 4.0, 0.2001953125, 0.00099945068359375, -7.0]> : tensor<5xbf16>
  %c = stablehlo.multiply %a, %b : tensor<5xbf16>
  check.expect_eq_const %c, dense<[0.451171875, -9.0, 0.02001953125, 1.0, -21.0]> : tensor<5xbf16>
  func.return
}

// -----

// On i1, multiplication is and.
func.func @main() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %c = stablehlo.multiply %a, %b : tensor<4xi1>
  check.expect_eq_const %c, dense<[false, false, false, true]> : tensor<4xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %b = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f32>>
  %c = stablehlo.multiply %a, %b : tensor<1xcomplex<f32>>
  check.expect_eq_const %c, dense<[(11.0, 2.0)]> : tensor<1xcomplex<f32>>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0x7F800000, 0x7FC00000]> : tensor<2xf32>
  %b = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %c = stablehlo.multiply %a, %b : tensor<2xf32>
  check.expect_almost_eq_const %c, dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>, tolerance = 0.0
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xf32>
  %b = stablehlo.constant dense<> : tensor<0x2xf32>
  %c = stablehlo.multiply %a, %b : tensor<0x2xf32>
  check.expect_eq_const %c, dense<> : tensor<0x2xf32>
  func.return
}
