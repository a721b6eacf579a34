// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[-7, 0, 7, -2147483648]> : tensor<4xi32>
  %y = stablehlo.abs %x : tensor<4xi32>
  check.expect_eq_const %y, dense<[7, 0, 7, -2147483648]> : tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-128, -127, 127]> : tensor<3xi8>
  %y = stablehlo.abs %x : tensor<3xi8>
  check.expect_eq_const %y, dense<[-128, 127, 127]> : tensor<3xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-0.0, -1.5, 0xFF800000, 2.0]> : tensor<4xf32>
  %y = stablehlo.abs %x : tensor<4xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %bits, dense<[0, 1069547520, 2139095040, 1073741824]> : tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0x7E00, 0xFE00]> : tensor<2xf16>
  %y = stablehlo.abs %x : tensor<2xf16>
  check.expect_almost_eq_const %y, dense<[0x7E00, 0x7E00]> : tensor<2xf16>, tolerance = 0.0
  func.return
}

// -----

// The absolute value of a complex number is real: 3-4-5, 5-12-13 and 8-15-17 triangles.
func.func @main() {
  %x = stablehlo.constant dense<[(3.0, 4.0), (-5.0, 12.0), (8.0, -15.0)]> : tensor<3xcomplex<f32>>
  %y = stablehlo.abs %x : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  check.expect_eq_const %y, dense<[5.0, 13.0, 17.0]> : tensor<3xf32>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %y = stablehlo.abs %x : tensor<2x0xf32>
  check.expect_eq_const %y, dense<> : tensor<2x0xf32>
  func.return
}
