// Trap: without a channel groups name replicas (each partition on its own); with a channel all_gather joins replicas and partitions, partitions outermost;
// global ids count replica * partitions + partition; all_to_all, collective_permute and collective_broadcast with a channel name partitions.

// Replicas.
func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[3]> : tensor<1xi32>
  %x3 = stablehlo.constant dense<[4]> : tensor<1xi32>
  %y:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each, @each], [@each, @each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[1, 3]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[2, 4]> : tensor<2xi32>
  check.expect_eq_const %y#2, dense<[1, 3]> : tensor<2xi32>
  check.expect_eq_const %y#3, dense<[2, 4]> : tensor<2xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<2xi32> {
  %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<1xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}

// -----

// Replicas and partitions.
func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[3]> : tensor<1xi32>
  %x3 = stablehlo.constant dense<[4]> : tensor<1xi32>
  %y:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each, @each], [@each, @each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
  check.expect_eq_const %y#0, dense<[1, 3, 2, 4]> : tensor<4xi32>
  check.expect_eq_const %y#1, dense<[1, 3, 2, 4]> : tensor<4xi32>
  check.expect_eq_const %y#2, dense<[1, 3, 2, 4]> : tensor<4xi32>
  check.expect_eq_const %y#3, dense<[1, 3, 2, 4]> : tensor<4xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<4xi32> {
  %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<1xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

// Global ids.
func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[3]> : tensor<1xi32>
  %x3 = stablehlo.constant dense<[4]> : tensor<1xi32>
  %y:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each, @each], [@each, @each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %y#2, dense<[3, 4]> : tensor<2xi32>
  check.expect_eq_const %y#3, dense<[3, 4]> : tensor<2xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<2xi32> {
  %y = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<1xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}

// -----

// Partitions.
func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[3]> : tensor<1xi32>
  %x3 = stablehlo.constant dense<[4]> : tensor<1xi32>
  %y:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each, @each], [@each, @each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[2]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[1]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[4]> : tensor<1xi32>
  check.expect_eq_const %y#3, dense<[3]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}

// -----

// Partitions.
func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[3]> : tensor<1xi32>
  %x3 = stablehlo.constant dense<[4]> : tensor<1xi32>
  %y:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each, @each], [@each, @each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[2]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[2]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[4]> : tensor<1xi32>
  check.expect_eq_const %y#3, dense<[4]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}
