// Trap: the first element inside the window is the candidate, and GE keeps the first of equals; padding is never chosen.

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

// GT takes the last of equals.
func.func @main() {
  %x = stablehlo.constant dense<[4, 4]> : tensor<2xi32>
  %source = stablehlo.constant dense<[7]> : tensor<1xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.select_and_scatter"(%x, %source, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %keep = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %keep : tensor<i1>
  }, {
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<2xi32>, tensor<1xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[0, 7]> : tensor<2xi32>
  func.return
}

// -----

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

// The initial value comes in for the place and for each source: (1 + 10) + 1.
func.func @main() {
  %x = stablehlo.constant dense<[1, 5]> : tensor<2xi32>
  %source = stablehlo.constant dense<[10]> : tensor<1xi32>
  %init = stablehlo.constant dense<1> : tensor<i32>
  %y = "stablehlo.select_and_scatter"(%x, %source, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %keep = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %keep : tensor<i1>
  }, {
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<2xi32>, tensor<1xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[1, 12]> : tensor<2xi32>
  func.return
}
