// Values: NumPy.

func.func @main() {
  %a = stablehlo.constant dense<[1, -2, 3]> : tensor<3xi32>
  %b = stablehlo.constant dense<[1, 3, -4]> : tensor<3xi32>
  %eq = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[true, false, false]> : tensor<3xi1>
  %ne = stablehlo.compare NE, %a, %b, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %ne, dense<[false, true, true]> : tensor<3xi1>
  %ge = stablehlo.compare GE, %a, %b, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %ge, dense<[true, false, true]> : tensor<3xi1>
  %gt = stablehlo.compare GT, %a, %b, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %gt, dense<[false, false, true]> : tensor<3xi1>
  %le = stablehlo.compare LE, %a, %b, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %le, dense<[true, true, false]> : tensor<3xi1>
  %lt = stablehlo.compare LT, %a, %b, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %lt, dense<[false, true, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1, 200, 3]> : tensor<3xui8>
  %b = stablehlo.constant dense<[1, 3, 255]> : tensor<3xui8>
  %eq = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[true, false, false]> : tensor<3xi1>
  %ne = stablehlo.compare NE, %a, %b, UNSIGNED : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  check.expect_eq_const %ne, dense<[false, true, true]> : tensor<3xi1>
  %ge = stablehlo.compare GE, %a, %b, UNSIGNED : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  check.expect_eq_const %ge, dense<[true, true, false]> : tensor<3xi1>
  %gt = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  check.expect_eq_const %gt, dense<[false, true, false]> : tensor<3xi1>
  %le = stablehlo.compare LE, %a, %b, UNSIGNED : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  check.expect_eq_const %le, dense<[true, false, true]> : tensor<3xi1>
  %lt = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  check.expect_eq_const %lt, dense<[false, false, true]> : tensor<3xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %b = stablehlo.constant dense<[false, false, true]> : tensor<3xi1>
  %eq = stablehlo.compare EQ, %a, %b : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[true, false, true]> : tensor<3xi1>
  %ne = stablehlo.compare NE, %a, %b : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  check.expect_eq_const %ne, dense<[false, true, false]> : tensor<3xi1>
  %ge = stablehlo.compare GE, %a, %b : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  check.expect_eq_const %ge, dense<[true, true, true]> : tensor<3xi1>
  %gt = stablehlo.compare GT, %a, %b : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  check.expect_eq_const %gt, dense<[false, true, false]> : tensor<3xi1>
  %le = stablehlo.compare LE, %a, %b : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  check.expect_eq_const %le, dense<[true, false, true]> : tensor<3xi1>
  %lt = stablehlo.compare LT, %a, %b : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  check.expect_eq_const %lt, dense<[false, false, false]> : tensor<3xi1>
  func.return
}

// -----

// Quiet: with NaN only NE holds; zeros of both signs are equal.
func.func @main() {
  %a = stablehlo.constant dense<[1.5, 0x7FC00000, -0.0, 0x7F800000, 0x7FC00000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[2.0, 1.0, 0.0, 0x7F800000, 0x7FC00000]> : tensor<5xf32>
  %eq = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %eq, dense<[false, false, true, true, false]> : tensor<5xi1>
  %ne = stablehlo.compare NE, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %ne, dense<[true, true, false, false, true]> : tensor<5xi1>
  %ge = stablehlo.compare GE, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %ge, dense<[false, false, true, true, false]> : tensor<5xi1>
  %gt = stablehlo.compare GT, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %gt, dense<[false, false, false, false, false]> : tensor<5xi1>
  %le = stablehlo.compare LE, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %le, dense<[true, false, true, true, false]> : tensor<5xi1>
  %lt = stablehlo.compare LT, %a, %b, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %lt, dense<[true, false, false, false, false]> : tensor<5xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xbf16>
  %b = stablehlo.constant dense<[1.5, 3.0]> : tensor<2xbf16>
  %eq = stablehlo.compare EQ, %a, %b : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  check.expect_eq_const %eq, dense<[true, false]> : tensor<2xi1>
  %ne = stablehlo.compare NE, %a, %b : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  check.expect_eq_const %ne, dense<[false, true]> : tensor<2xi1>
  %ge = stablehlo.compare GE, %a, %b : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  check.expect_eq_const %ge, dense<[true, false]> : tensor<2xi1>
  %gt = stablehlo.compare GT, %a, %b : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  check.expect_eq_const %gt, dense<[false, false]> : tensor<2xi1>
  %le = stablehlo.compare LE, %a, %b : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  check.expect_eq_const %le, dense<[true, true]> : tensor<2xi1>
  %lt = stablehlo.compare LT, %a, %b : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
  check.expect_eq_const %lt, dense<[false, true]> : tensor<2xi1>
  func.return
}

// -----

// Complex: by real part, then by imaginary part.
func.func @main() {
  %a = stablehlo.constant dense<[(1.0, 2.0), (1.0, 2.0), (3.0, 0.0)]> : tensor<3xcomplex<f32>>
  %b = stablehlo.constant dense<[(2.0, 0.0), (1.0, 3.0), (3.0, 0.0)]> : tensor<3xcomplex<f32>>
  %lt = stablehlo.compare LT, %a, %b : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %lt, dense<[true, true, false]> : tensor<3xi1>
  %ge = stablehlo.compare GE, %a, %b : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %ge, dense<[false, false, true]> : tensor<3xi1>
  %eq = stablehlo.compare EQ, %a, %b : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[false, false, true]> : tensor<3xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0xf64>
  %b = stablehlo.constant dense<> : tensor<0xf64>
  %eq = stablehlo.compare EQ, %a, %b : (tensor<0xf64>, tensor<0xf64>) -> tensor<0xi1>
  check.expect_eq_const %eq, dense<> : tensor<0xi1>
  %ne = stablehlo.compare NE, %a, %b : (tensor<0xf64>, tensor<0xf64>) -> tensor<0xi1>
  check.expect_eq_const %ne, dense<> : tensor<0xi1>
  %ge = stablehlo.compare GE, %a, %b : (tensor<0xf64>, tensor<0xf64>) -> tensor<0xi1>
  check.expect_eq_const %ge, dense<> : tensor<0xi1>
  %gt = stablehlo.compare GT, %a, %b : (tensor<0xf64>, tensor<0xf64>) -> tensor<0xi1>
  check.expect_eq_const %gt, dense<> : tensor<0xi1>
  %le = stablehlo.compare LE, %a, %b : (tensor<0xf64>, tensor<0xf64>) -> tensor<0xi1>
  check.expect_eq_const %le, dense<> : tensor<0xi1>
  %lt = stablehlo.compare LT, %a, %b : (tensor<0xf64>, tensor<0xf64>) -> tensor<0xi1>
  check.expect_eq_const %lt, dense<> : tensor<0xi1>
  func.return
}
