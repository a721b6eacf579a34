// Values: by hand, from what the group of each process is. The first of the group sends; outsiders have zeros.

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
