// Trap: the comparator is "less" and its arguments come in pairs for each operand (lhs0, rhs0, lhs1, rhs1); a negative dimension counts from the end; equal keys keep their order.

// By the second operand.
func.func @main() {
  %a = stablehlo.constant dense<[[10, 20, 30, 40]]> : tensor<1x4xi32>
  %b = stablehlo.constant dense<[[2.0, 1.0, 2.0, 1.0]]> : tensor<1x4xf32>
  %y:2 = "stablehlo.sort"(%a, %b) ({
    ^bb0(%a0: tensor<i32>, %a1: tensor<i32>, %b0: tensor<f32>, %b1: tensor<f32>):
      %less = stablehlo.compare LT, %b0, %b1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }) {dimension = -1 : i64} : (tensor<1x4xi32>, tensor<1x4xf32>) -> (tensor<1x4xi32>, tensor<1x4xf32>)
  check.expect_eq_const %y#0, dense<[[20, 40, 10, 30]]> : tensor<1x4xi32>
  func.return
}
