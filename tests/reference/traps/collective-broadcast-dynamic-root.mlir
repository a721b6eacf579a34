// Trap: with has_dynamic_root the last operand names the member of the group that sends, one entry for each data operand.

func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x3 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x4 = stablehlo.constant dense<[3]> : tensor<1xi32>
  %x5 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %y:3 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3, %x4, %x5) {programs = [[@each], [@each], [@each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[3]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[3]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[3]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>, %root: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.collective_broadcast"(%x, %root) {replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, has_dynamic_root} : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}
