// Values: by hand, from what the group of each process is.

func.func @main() {
  %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %x1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %y:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each], [@each]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[1, 3]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[2, 4]> : tensor<2xi32>
  func.return
}
func.func @each(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}

// -----

// Split rows, join columns.
func.func @main() {
  %x0 = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %x1 = stablehlo.constant dense<[[3], [4]]> : tensor<2x1xi32>
  %y:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each], [@each]]} : (tensor<2x1xi32>, tensor<2x1xi32>) -> (tensor<1x2xi32>, tensor<1x2xi32>)
  check.expect_eq_const %y#0, dense<[[1, 3]]> : tensor<1x2xi32>
  check.expect_eq_const %y#1, dense<[[2, 4]]> : tensor<1x2xi32>
  func.return
}
func.func @each(%x: tensor<2x1xi32>) -> tensor<1x2xi32> {
  %y = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x1xi32>) -> tensor<1x2xi32>
  return %y : tensor<1x2xi32>
}

// -----

// A channel: partitions of one replica.
func.func @main() {
  %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %x1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %y:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each, @each]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[1, 3]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[2, 4]> : tensor<2xi32>
  func.return
}
func.func @each(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<2xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}
