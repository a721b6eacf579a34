// Values: by hand, from what the group of each process is.

func.func @main() {
  %x0 = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %x1 = stablehlo.constant dense<[10, 20, 30, 40]> : tensor<4xi32>
  %y:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each], [@each]]} : (tensor<4xi32>, tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[11, 22]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[33, 44]> : tensor<2xi32>
  func.return
}
func.func @each(%x: tensor<4xi32>) -> tensor<2xi32> {
  %y = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}

// -----

// The part goes by the place in the group.
func.func @main() {
  %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %x1 = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %y:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each], [@each]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[22]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[11]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<2xi32>) -> tensor<1xi32> {
  %y = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}

// -----

// Global ids.
func.func @main() {
  %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %x1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %x2 = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
  %x3 = stablehlo.constant dense<[7, 8]> : tensor<2xi32>
  %y:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each, @each], [@each, @each]]} : (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[8]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[8]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[10]> : tensor<1xi32>
  check.expect_eq_const %y#3, dense<[10]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<2xi32>) -> tensor<1xi32> {
  %y = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids} : (tensor<2xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}
