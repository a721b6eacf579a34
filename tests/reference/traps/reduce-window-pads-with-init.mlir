// Trap: padding and base dilation insert the initial value, not zero, and each window starts from it as well.

// 1 + (1 + 5) at both ends: initial value, padding, element.
func.func @main() {
  %x = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
  %init = stablehlo.constant dense<1> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
  }) {window_dimensions = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[7, 12, 8]> : tensor<3xi32>
  func.return
}

// -----

// 3 + 5 + 3 and so on.
func.func @main() {
  %x = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
  %init = stablehlo.constant dense<3> : tensor<i32>
  %y = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
  }) {window_dimensions = array<i64: 2>, base_dilations = array<i64: 2>} : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[11, 12]> : tensor<2xi32>
  func.return
}
