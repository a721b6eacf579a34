// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[1, 5, 2, 3]> : tensor<4xi32>
  %source = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.select_and_scatter"(%x, %source, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %keep = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %keep : tensor<i1>
  }, {
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %y, dense<[0, 10, 0, 20]> : tensor<4xi32>
  func.return
}

// -----

// Windows that overlap add up.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 5.0, 2.0]> : tensor<3xf32>
  %source = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.select_and_scatter"(%x, %source, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %keep = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %keep : tensor<i1>
  }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %sum : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 1>} : (tensor<3xf32>, tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %y, dense<[0.0, 30.0, 0.0]> : tensor<3xf32>
  func.return
}

// -----

// A tie goes to the first with GE.
func.func @main() {
  %x = stablehlo.constant dense<[4, 4]> : tensor<2xi32>
  %source = stablehlo.constant dense<[7]> : tensor<1xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.select_and_scatter"(%x, %source, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %keep = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %keep : tensor<i1>
  }, {
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<2xi32>, tensor<1xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[7, 0]> : tensor<2xi32>
  func.return
}

// -----

// Padding is never selected.
func.func @main() {
  %x = stablehlo.constant dense<[-5, -7]> : tensor<2xi32>
  %source = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.select_and_scatter"(%x, %source, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %keep = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %keep : tensor<i1>
  }, {
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>, tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[1, 2]> : tensor<2xi32>
  func.return
}

// -----

// Two dimensions.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 9.0, 3.0], [4.0, 0.0, 5.0, 6.0]]> : tensor<2x4xbf16>
  %source = stablehlo.constant dense<[[10.0, 20.0]]> : tensor<1x2xbf16>
  %init = stablehlo.constant dense<0.0> : tensor<bf16>
  %y = "stablehlo.select_and_scatter"(%x, %source, %init) ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %keep = stablehlo.compare GE, %a, %b : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      stablehlo.return %keep : tensor<i1>
  }, {
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %sum = stablehlo.add %a, %b : tensor<bf16>
      stablehlo.return %sum : tensor<bf16>
  }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>} : (tensor<2x4xbf16>, tensor<1x2xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  check.expect_eq_const %y, dense<[[0.0, 0.0, 20.0, 0.0], [10.0, 0.0, 0.0, 0.0]]> : tensor<2x4xbf16>
  func.return
}
