// Trap: updates apply in row-major order with (current, update); elements that fall outside are skipped one by one, never clamped.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[0], [0]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<i32>, %update: tensor<i32>):
      stablehlo.return %update : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[20, 2, 3]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[-1], [3]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<i32>, %update: tensor<i32>):
      %new = stablehlo.add %current, %update : tensor<i32>
      stablehlo.return %new : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[1, 2, 3]> : tensor<3xi32>
  func.return
}

// -----

// (5 - 1) - 2.
func.func @main() {
  %x = stablehlo.constant dense<[5]> : tensor<1xi32>
  %i = stablehlo.constant dense<[[0], [0]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<i32>, %update: tensor<i32>):
      %new = stablehlo.subtract %current, %update : tensor<i32>
      stablehlo.return %new : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<1xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<1xi32>
  check.expect_eq_const %y, dense<[2]> : tensor<1xi32>
  func.return
}

// -----

// A window of two at 2 in a tensor of three: its first element is written, the second lies outside.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[2]]> : tensor<1x1xi32>
  %u = stablehlo.constant dense<[[10, 20]]> : tensor<1x2xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) ({
    ^bb0(%current: tensor<i32>, %update: tensor<i32>):
      %new = stablehlo.add %current, %update : tensor<i32>
      stablehlo.return %new : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3xi32>, tensor<1x1xi32>, tensor<1x2xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[1, 2, 13]> : tensor<3xi32>
  func.return
}
