// Values: NumPy in the element type, and by hand for the edges.

func.func @main() {
  %a = stablehlo.constant dense<[1, -2, 127, -128]> : tensor<4xi8>
  %b = stablehlo.constant dense<[2, -3, 1, -1]> : tensor<4xi8>
  %c = stablehlo.add %a, %b : tensor<4xi8>
  check.expect_eq_const %c, dense<[3, -5, -128, 127]> : tensor<4xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[255, 200]> : tensor<2xui8>
  %b = stablehlo.constant dense<[1, 100]> : tensor<2xui8>
  %c = stablehlo.add %a, %b : tensor<2xui8>
  check.expect_eq_const %c, dense<[0, 44]> : tensor<2xui8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[4611686018427387904, -5]> : tensor<2xi64>
  %b = stablehlo.constant dense<[4611686018427387904, 7]> : tensor<2xi64>
  %c = stablehlo.add %a, %b : tensor<2xi64>
  check.expect_eq_const %c, dense<[-9223372036854775808, 2]> : tensor<2xi64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf32>
  %c = stablehlo.add %a, %b : tensor<5xf32>
  check.expect_eq_const %c, dense<[1.8, 1.75, 0.3, 1000.001, -4.0]> : tensor<5xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1000.0, 3.0]> : tensor<5xf64>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf64>
  %c = stablehlo.add %a, %b : tensor<5xf64>
  check.expect_eq_const %c, dense<[1.8, 1.75, 0.30000000000000004, 1000.001, -4.0]> : tensor<5xf64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.1, 1.0e+03, 3.0]> : tensor<5xf16>
  %b = stablehlo.constant dense<[0.3, 4.0, 0.2, 0.001, -7.0]> : tensor<5xf16>
  %c = stablehlo.add %a, %b : tensor<5xf16>
  check.expect_eq_const %c, dense<[1.8, 1.75, 0.2998, 1.0e+03, -4.0]> : tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.10009765625, 1000.0, 3.0]> : tensor<5xbf16>
  %b = stablehlo.constant dense<[0.30078125, 4.0, 0.2001953125, 0.00099945068359375, -7.0]> : tensor<5xbf16>
  %c = stablehlo.add %a, %b : tensor<5xbf16>
  check.expect_eq_const %c, dense<[1.796875, 1.75, 0.30078125, 1000.0, -4.0]> : tensor<5xbf16>
  func.return
}

// -----

// On i1, addition is or.
func.func @main() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %c = stablehlo.add %a, %b : tensor<4xi1>
  check.expect_eq_const %c, dense<[false, true, true, true]> : tensor<4xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[(1.0, 2.0), (3.0, -1.0)]> : tensor<2xcomplex<f32>>
  %b = stablehlo.constant dense<[(0.5, 1.0), (-3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %c = stablehlo.add %a, %b : tensor<2xcomplex<f32>>
  check.expect_eq_const %c, dense<[(1.5, 3.0), (0.0, 3.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  %b = stablehlo.constant dense<[1.0, 0xFF800000, 1.0]> : tensor<3xf32>
  %c = stablehlo.add %a, %b : tensor<3xf32>
  check.expect_almost_eq_const %c, dense<[0x7F800000, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// Quantized, scale 0.5 and zero point 0: 1.5 + 2.0 = 3.5, and 60 + 60 saturates at 63.5.
func.func @main() {
  %a = stablehlo.constant() {value = dense<[3, 120]> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  %b = stablehlo.constant() {value = dense<[4, 120]> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  %c = stablehlo.add %a, %b : tensor<2x!quant.uniform<i8:f32, 0.5>>
  %real = stablehlo.uniform_dequantize %c : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
  check.expect_eq_const %real, dense<[3.5, 63.5]> : tensor<2xf32>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xf32>
  %b = stablehlo.constant dense<> : tensor<0x2xf32>
  %c = stablehlo.add %a, %b : tensor<0x2xf32>
  check.expect_eq_const %c, dense<> : tensor<0x2xf32>
  func.return
}
