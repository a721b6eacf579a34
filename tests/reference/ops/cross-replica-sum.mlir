// Values: by hand, from what the group of each process is.

func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[30]> : tensor<1xi32>
  %x3 = stablehlo.constant dense<[40]> : tensor<1xi32>
  %y:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each], [@each], [@each], [@each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[31]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[42]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[31]> : tensor<1xi32>
  check.expect_eq_const %y#3, dense<[42]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.cross-replica-sum"(%x) {replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}
