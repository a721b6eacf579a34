// Values: by hand, from what the group of each process is.

func.func @main() {
  %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %x1 = stablehlo.constant dense<[30, 40]> : tensor<2xi32>
  %y:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each], [@each]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[31, 42]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[31, 42]> : tensor<2xi32>
  func.return
}
func.func @each(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
}

// -----

// Two groups.
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
  %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}

// -----

// Without a channel each partition is on its own.
func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[30]> : tensor<1xi32>
  %x3 = stablehlo.constant dense<[40]> : tensor<1xi32>
  %y:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each, @each], [@each, @each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[31]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[42]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[31]> : tensor<1xi32>
  check.expect_eq_const %y#3, dense<[42]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}

// -----

// With a channel all processes together.
func.func @main() {
  %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
  %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
  %x2 = stablehlo.constant dense<[30]> : tensor<1xi32>
  %x3 = stablehlo.constant dense<[40]> : tensor<1xi32>
  %y:4 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each, @each], [@each, @each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
  check.expect_eq_const %y#0, dense<[73]> : tensor<1xi32>
  check.expect_eq_const %y#1, dense<[73]> : tensor<1xi32>
  check.expect_eq_const %y#2, dense<[73]> : tensor<1xi32>
  check.expect_eq_const %y#3, dense<[73]> : tensor<1xi32>
  func.return
}
func.func @each(%x: tensor<1xi32>) -> tensor<1xi32> {
  %y = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %sum = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<1xi32>) -> tensor<1xi32>
  return %y : tensor<1xi32>
}

// -----

// Groups by the axes of a mesh of the module: devices 0 and 2 differ along x, 0 and 1 along y.
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main() {
    %x0 = stablehlo.constant dense<[1]> : tensor<1xi32>
    %x1 = stablehlo.constant dense<[2]> : tensor<1xi32>
    %x2 = stablehlo.constant dense<[30]> : tensor<1xi32>
    %x3 = stablehlo.constant dense<[40]> : tensor<1xi32>
    %y:8 = "interpreter.run_parallel"(%x0, %x1, %x2, %x3) {programs = [[@each, @each, @each, @each]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
    check.expect_eq_const %y#0, dense<[31]> : tensor<1xi32>
    check.expect_eq_const %y#1, dense<[3]> : tensor<1xi32>
    check.expect_eq_const %y#2, dense<[42]> : tensor<1xi32>
    check.expect_eq_const %y#3, dense<[3]> : tensor<1xi32>
    check.expect_eq_const %y#4, dense<[31]> : tensor<1xi32>
    check.expect_eq_const %y#5, dense<[70]> : tensor<1xi32>
    check.expect_eq_const %y#6, dense<[42]> : tensor<1xi32>
    check.expect_eq_const %y#7, dense<[70]> : tensor<1xi32>
    func.return
  }
  func.func @each(%x: tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>) {
    %y = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %sum = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %sum : tensor<i32>
    }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<1xi32>) -> tensor<1xi32>
    %z = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %sum = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %sum : tensor<i32>
    }) {replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids} : (tensor<1xi32>) -> tensor<1xi32>
    return %y, %z : tensor<1xi32>, tensor<1xi32>
  }
}
