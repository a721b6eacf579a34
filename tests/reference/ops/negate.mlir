// Values: by hand; two's complement wraps.

func.func @main() {
  %x = stablehlo.constant dense<[0, 5, -5, -2147483648]> : tensor<4xi32>
  %y = stablehlo.negate %x : tensor<4xi32>
  check.expect_eq_const %y, dense<[0, -5, 5, -2147483648]> : tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 255]> : tensor<3xui8>
  %y = stablehlo.negate %x : tensor<3xui8>
  check.expect_eq_const %y, dense<[0, 255, 1]> : tensor<3xui8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.0, -0.0, 1.5, 0xFF800000]> : tensor<4xf32>
  %y = stablehlo.negate %x : tensor<4xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %bits, dense<[-2147483648, 0, -1077936128, 2139095040]> : tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-3.0, -4.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.negate %x : tensor<2xcomplex<f32>>
  check.expect_eq_const %y, dense<[(-1.0, -2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xbf16>
  %y = stablehlo.negate %x : tensor<2xbf16>
  check.expect_eq_const %y, dense<[-1.5, 2.0]> : tensor<2xbf16>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %y = stablehlo.negate %x : tensor<2x0xf32>
  check.expect_eq_const %y, dense<> : tensor<2x0xf32>
  func.return
}
