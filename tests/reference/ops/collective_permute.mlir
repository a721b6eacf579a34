// Values: by hand, from what the group of each process is. Who receives nothing has zeros.

func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[3]> : tensor<1xi32>
  %y:3 = "interpreter.run_parallel"(%x0, %x1, %x2) {programs = [[@each], [@each], [@each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[0]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[1]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[2]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}

// -----

// A channel: between partitions.
func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %y:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each, @each]]} : (tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[2]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[1]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}
