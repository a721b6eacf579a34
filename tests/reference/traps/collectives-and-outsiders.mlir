// Trap: who is no target of collective_permute, or in no group of collective_broadcast, has zeros; -1 fills up a short group.

func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[3]> : tensor<1xi32>
  %y:3 = "interpreter.run_parallel"(%x0, %x1, %x2) {programs = [[@each], [@each], [@each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[0]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[1]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[0]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}

// -----

func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[3]> : tensor<1xi32>
  %y:3 = "interpreter.run_parallel"(%x0, %x1, %x2) {programs = [[@each], [@each], [@each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[0]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[3]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[3]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}

// -----

func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[4]> : tensor<1xi32>
  %y:3 = "interpreter.run_parallel"(%x0, %x1, %x2) {programs = [[@each], [@each], [@each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[5]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[2]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[5]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {replica_groups = dense<[[0, 2], [1, -1]]> : tensor<2x2xi64>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}
