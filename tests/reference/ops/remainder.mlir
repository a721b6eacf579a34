// Values: NumPy in the element type, and by hand for the edges.
// The result has the sign of the dividend.

func.func @main() {
  %a = stablehlo.constant dense<[17, -17, 17, -17]> : tensor<4xi32>
  %b = stablehlo.constant dense<[3, 3, -3, -3]> : tensor<4xi32>
  %c = stablehlo.remainder %a, %b : tensor<4xi32>
  check.expect_eq_const %c, dense<[2, -2, 2, -2]> : tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[255, 250]> : tensor<2xui8>
  %b = stablehlo.constant dense<[2, 7]> : tensor<2xui8>
  %c = stablehlo.remainder %a, %b : tensor<2xui8>
  check.expect_eq_const %c, dense<[1, 5]> : tensor<2xui8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf32>
  %c = stablehlo.remainder %a, %b : tensor<5xf32>
  check.expect_eq_const %c, dense<[0.29999995, -2.25, 0.1, 0.0009525026, 3.0]> : tensor<5xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf64>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf64>
  %c = stablehlo.remainder %a, %b : tensor<5xf64>
  check.expect_eq_const %c, dense<[5.551115123125783e-17, -2.25, 0.1, 0.0009999999999791833, 3.0]> : tensor<5xf64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1.0e+03, 3.0]> : tensor<5xf16>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf16>
  %c = stablehlo.remainder %a, %b : tensor<5xf16>
  check.expect_eq_const %c, dense<[0.2998, -2.25, 0.1, 0.000806, 3.0]> : tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.10009765625, 1000.0, 3.0]> : tensor<5xbf16>
  %b = stablehlo.constant dense<[0.30078125, 4.0, 0.2001953125, 0.00099945068359375, -7.0]> : tensor<5xbf16>
  %c = stablehlo.remainder %a, %b : tensor<5xbf16>
  check.expect_eq_const %c, dense<[0.296875, -2.25, 0.10009765625, 0.00061798095703125, 3.0]> : tensor<5xbf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[5.5, -5.5]> : tensor<2xf32>
  %b = stablehlo.constant dense<[2.0, 2.0]> : tensor<2xf32>
  %c = stablehlo.remainder %a, %b : tensor<2xf32>
  check.expect_eq_const %c, dense<[1.5, -1.5]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.0, 0x7F800000, 1.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[0.0, 1.0, 0x7F800000]> : tensor<3xf32>
  %c = stablehlo.remainder %a, %b : tensor<3xf32>
  check.expect_almost_eq_const %c, dense<[0x7FC00000, 0x7FC00000, 1.0]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xf32>
  %b = stablehlo.constant dense<> : tensor<0x2xf32>
  %c = stablehlo.remainder %a, %b : tensor<0x2xf32>
  check.expect_eq_const %c, dense<> : tensor<0x2xf32>
  func.return
}
