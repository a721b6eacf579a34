// Values: by hand and by ml_dtypes for rounding.

func.func @main() {
  %x = stablehlo.constant dense<[1, -2, 300]> : tensor<3xi32>
  %y = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xi8>
  check.expect_eq_const %y, dense<[1, -2, 44]> : tensor<3xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-1, 5]> : tensor<2xi8>
  %y = stablehlo.convert %x : (tensor<2xi8>) -> tensor<2xui32>
  check.expect_eq_const %y, dense<[4294967295, 5]> : tensor<2xui32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[255, 5]> : tensor<2xui8>
  %y = stablehlo.convert %x : (tensor<2xui8>) -> tensor<2xi8>
  check.expect_eq_const %y, dense<[-1, 5]> : tensor<2xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[255, 5]> : tensor<2xui8>
  %y = stablehlo.convert %x : (tensor<2xui8>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[255, 5]> : tensor<2xi32>
  func.return
}

// -----

// Float to integer: toward zero, saturating, NaN gives 0.
func.func @main() {
  %x = stablehlo.constant dense<[1.9, -1.9, 1.0e+10, -1.0e+10, 0x7FC00000, 0x7F800000]> : tensor<6xf32>
  %y = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xi32>
  check.expect_eq_const %y, dense<[1, -1, 2147483647, -2147483648, 0, 2147483647]> : tensor<6xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.5, 300.0, 2.5]> : tensor<3xf32>
  %y = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xui8>
  check.expect_eq_const %y, dense<[0, 255, 2]> : tensor<3xui8>
  func.return
}

// -----

// To i1: anything but zero is true, NaN too.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, -0.0, 0.25, 0x7FC00000]> : tensor<4xf32>
  %y = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %y, dense<[false, false, true, true]> : tensor<4xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %y = stablehlo.convert %x : (tensor<2xi1>) -> tensor<2xbf16>
  check.expect_eq_const %y, dense<[1.0, 0.0]> : tensor<2xbf16>
  func.return
}

// -----

// Nearest even: 2^24 + 1 has no f32 of its own.
func.func @main() {
  %x = stablehlo.constant dense<[16777217, 16777219]> : tensor<2xi32>
  %y = stablehlo.convert %x : (tensor<2xi32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[1.6777216e+07, 1.677722e+07]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0039062, 1.0117188, 3.4e+38]> : tensor<3xf32>
  %y = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xbf16>
  check.expect_eq_const %y, dense<[1.0, 1.015625, 0x7F80]> : tensor<3xbf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[65504.0, 65520.0, 1.0e-08]> : tensor<3xf32>
  %y = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xf16>
  check.expect_eq_const %y, dense<[6.55e+04, 0x7C00, 0.0]> : tensor<3xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 0.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.convert %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[1.0, -3.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.5]> : tensor<1xf32>
  %y = stablehlo.convert %x : (tensor<1xf32>) -> tensor<1xcomplex<f64>>
  check.expect_eq_const %y, dense<[(1.5, 0.0)]> : tensor<1xcomplex<f64>>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0xf32>
  %y = stablehlo.convert %x : (tensor<0xf32>) -> tensor<0xi8>
  check.expect_eq_const %y, dense<> : tensor<0xi8>
  func.return
}

// -----

// Formats of 8 bits: 448 is the largest f8E4M3FN; 1.0625 is halfway between 1 and 1.125.
func.func @main() {
  %x = stablehlo.constant dense<[448.0, 1.0625, 1.1875, -0.5]> : tensor<4xf32>
  %y = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %z = stablehlo.convert %y : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  check.expect_eq_const %z, dense<[448.0, 1.0, 1.25, -0.5]> : tensor<4xf32>
  func.return
}
