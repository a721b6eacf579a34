// Values: by hand.

// Updates of one place add up.
func.func @main() {
  %x = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[0], [2], [0]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<i32>, %update: tensor<i32>):
      %new = stablehlo.add %current, %update : tensor<i32>
      stablehlo.return %new : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[14, 20, 32]> : tensor<3xi32>
  func.return
}

// -----

// The last update in row-major order wins.
func.func @main() {
  %x = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[1], [1]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<i32>, %update: tensor<i32>):
      stablehlo.return %update : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[10, 6, 30]> : tensor<3xi32>
  func.return
}

// -----

// Updates outside are left out.
func.func @main() {
  %x = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[-1], [3], [1]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<i32>, %update: tensor<i32>):
      %new = stablehlo.add %current, %update : tensor<i32>
      stablehlo.return %new : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[10, 23, 30]> : tensor<3xi32>
  func.return
}

// -----

// Rows; the function gets the current value first: 10 - 1 and so on.
func.func @main() {
  %x = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<[[1]]> : tensor<1x1xi32>
  %u = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<i32>, %update: tensor<i32>):
      %new = stablehlo.subtract %current, %update : tensor<i32>
      stablehlo.return %new : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<2x2xi32>, tensor<1x1xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[10, 20], [29, 38]]> : tensor<2x2xi32>
  func.return
}

// -----

// Batching dimensions.
func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<2x3xf32>
  %i = stablehlo.constant dense<[[[2]], [[0]]]> : tensor<2x1x1xi32>
  %u = stablehlo.constant dense<[[5.0], [6.0]]> : tensor<2x1xf32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<f32>, %update: tensor<f32>):
      %new = stablehlo.add %current, %update : tensor<f32>
      stablehlo.return %new : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>} : (tensor<2x3xf32>, tensor<2x1x1xi32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[0.0, 0.0, 5.0], [6.0, 0.0, 0.0]]> : tensor<2x3xf32>
  func.return
}

// -----

// No update.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %i = stablehlo.constant dense<> : tensor<0x1xi32>
  %u = stablehlo.constant dense<> : tensor<0xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<i32>, %update: tensor<i32>):
      %new = stablehlo.add %current, %update : tensor<i32>
      stablehlo.return %new : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<2xi32>, tensor<0x1xi32>, tensor<0xi32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[1, 2]> : tensor<2xi32>
  func.return
}

// -----

// Two inputs at once: a sum and a maximum.
func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = stablehlo.constant dense<[[1], [1]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %v = stablehlo.constant dense<[7.0, 3.0]> : tensor<2xf32>
  %y:2 = "stablehlo.scatter"(%a, %b, %i, %u, %v) ({
    ^bb0(%x0: tensor<i32>, %x1: tensor<f32>, %u0: tensor<i32>, %u1: tensor<f32>):
      %sum = stablehlo.add %x0, %u0 : tensor<i32>
      %max = stablehlo.maximum %x1, %u1 : tensor<f32>
      stablehlo.return %sum, %max : tensor<i32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<2xi32>, tensor<2xf32>, tensor<2x1xi32>, tensor<2xi32>, tensor<2xf32>) -> (tensor<2xi32>, tensor<2xf32>)
  check.expect_eq_const %y#0, dense<[1, 32]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[1.0, 7.0]> : tensor<2xf32>
  func.return
}
