// Values: by hand, from what the group of each process is. Only the first of the group keeps the sum.

func.func @main() {
  %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %x1 = stablehlo.constant dense<[30, 40]> : tensor<2xi32>
  %y:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each], [@each]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[31, 42]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[0, 0]> : tensor<2xi32>
  func.return
}
func.func @each(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = "stablehlo.collective_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}
