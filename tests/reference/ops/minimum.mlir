// Values: NumPy in the element type, and by hand for the edges.

func.func @main() {
  %a = stablehlo.constant dense<[1, -5]> : tensor<2xi32>
  %b = stablehlo.constant dense<[-1, -4]> : tensor<2xi32>
  %c = stablehlo.minimum %a, %b : tensor<2xi32>
  check.expect_eq_const %c, dense<[-1, -5]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1, 255]> : tensor<2xui8>
  %b = stablehlo.constant dense<[2, 254]> : tensor<2xui8>
  %c = stablehlo.minimum %a, %b : tensor<2xui8>
  check.expect_eq_const %c, dense<[1, 254]> : tensor<2xui8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, 0x7FC00000, 3.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[2.0, 1.0, 0x7FC00000]> : tensor<3xf32>
  %c = stablehlo.minimum %a, %b : tensor<3xf32>
  check.expect_almost_eq_const %c, dense<[1.5, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %c = stablehlo.minimum %a, %b : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %c : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %bits, dense<[-2147483648, -2147483648]> : tensor<2xi32>
  func.return
}

// -----

// On i1, the minimum is and.
func.func @main() {
  %a = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
  %c = stablehlo.minimum %a, %b : tensor<3xi1>
  check.expect_eq_const %c, dense<[false, false, true]> : tensor<3xi1>
  func.return
}

// -----

// Complex numbers compare by real part, then by imaginary part.
func.func @main() {
  %a = stablehlo.constant dense<[(1.0, 2.0), (1.0, 5.0)]> : tensor<2xcomplex<f32>>
  %b = stablehlo.constant dense<[(2.0, -9.0), (1.0, 4.0)]> : tensor<2xcomplex<f32>>
  %c = stablehlo.minimum %a, %b : tensor<2xcomplex<f32>>
  check.expect_eq_const %c, dense<[(1.0, 2.0), (1.0, 4.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xf32>
  %b = stablehlo.constant dense<> : tensor<0x2xf32>
  %c = stablehlo.minimum %a, %b : tensor<0x2xf32>
  check.expect_eq_const %c, dense<> : tensor<0x2xf32>
  func.return
}
