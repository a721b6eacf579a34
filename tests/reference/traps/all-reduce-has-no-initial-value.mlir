// Trap: all_reduce folds the values in the order of the process ids, the first one as the start: 10 - 1 - 2.

func.func @main() {
  %x0 = stablehlo.constant dense<[10]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %y:3 = "interpreter.run_parallel"(%x0, %x1, %x2) {programs = [[@each], [@each], [@each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[7]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[7]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[7]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.subtract %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {replica_groups = dense<[[2, 1, 0]]> : tensor<1x3xi64>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}
