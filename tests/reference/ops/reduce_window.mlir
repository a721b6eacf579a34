// Values: by hand.

// Sums of pairs.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
  }) {window_dimensions = array<i64: 2>} : (tensor<4xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[3, 5, 7]> : tensor<3xi32>
  func.return
}

// -----

// A stride of 2 and padding; the padding is the initial value 1.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %init = stablehlo.constant dense<1.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.multiply %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %y, dense<[1.0, 6.0, 4.0]> : tensor<3xf32>
  func.return
}

// -----

// Base dilation puts initial values between: 1 0 2 0 3.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
  }) {window_dimensions = array<i64: 2>, base_dilations = array<i64: 2>} : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %y, dense<[1, 2, 2, 3]> : tensor<4xi32>
  func.return
}

// -----

// Window dilation: elements two apart.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi64>
  %init = stablehlo.constant dense<0> : tensor<i64>
  %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %c = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %c : tensor<i64>
  }) {window_dimensions = array<i64: 2>, window_dilations = array<i64: 2>} : (tensor<5xi64>, tensor<i64>) -> tensor<3xi64>
  check.expect_eq_const %y, dense<[4, 6, 8]> : tensor<3xi64>
  func.return
}

// -----

// Maximum over 2 x 2.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 5.0, 2.0], [4.0, 3.0, 9.0], [7.0, 8.0, 6.0]]> : tensor<3x3xbf16>
  %init = stablehlo.constant dense<-100.0> : tensor<bf16>
  %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %c = stablehlo.maximum %a, %b : tensor<bf16>
      stablehlo.return %c : tensor<bf16>
  }) {window_dimensions = array<i64: 2, 2>} : (tensor<3x3xbf16>, tensor<bf16>) -> tensor<2x2xbf16>
  check.expect_eq_const %y, dense<[[5.0, 9.0], [8.0, 9.0]]> : tensor<2x2xbf16>
  func.return
}

// -----

// Negative padding cuts.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
  }) {window_dimensions = array<i64: 2>, padding = dense<[[-1, -1]]> : tensor<1x2xi64>} : (tensor<4xi32>, tensor<i32>) -> tensor<1xi32>
  check.expect_eq_const %y, dense<[5]> : tensor<1xi32>
  func.return
}

// -----

// The window does not fit: no result.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
  }) {window_dimensions = array<i64: 3>} : (tensor<2xi32>, tensor<i32>) -> tensor<0xi32>
  check.expect_eq_const %y, dense<> : tensor<0xi32>
  func.return
}

// -----

// Negative padding that takes away more than there is leaves no window (by the specification's formula: an empty dimension).
func.func @main() {
  %x = stablehlo.constant dense<5> : tensor<1x2xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{padding = dense<[[-2, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<1x2xi32>, tensor<i32>) -> tensor<0x2xi32>
  check.expect_eq_const %0, dense<> : tensor<0x2xi32>
  func.return
}
