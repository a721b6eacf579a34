// Gathers and scatters are of what a transpose is made of.
// RUN: cupel opt %s --untranspose-places | FileCheck %s

// A row of a cache is written where it lies.
// CHECK-LABEL: func.func @cache
// CHECK-NOT: stablehlo.transpose
// CHECK: %[[S:.*]] = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2, 3], inserted_window_dims = [2], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>}>
// CHECK: return %[[S]]
func.func @cache(%c: tensor<2x3x9x8xf32>, %i: tensor<4x1xi32>, %u: tensor<4x2x3x8xf32>) -> tensor<2x3x9x8xf32> {
  %0 = stablehlo.transpose %c, dims = [2, 0, 1, 3] : (tensor<2x3x9x8xf32>) -> tensor<9x2x3x8xf32>
  %1 = "stablehlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2, 3], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    stablehlo.return %q : tensor<f32>
  }) : (tensor<9x2x3x8xf32>, tensor<4x1xi32>, tensor<4x2x3x8xf32>) -> tensor<9x2x3x8xf32>
  %2 = stablehlo.transpose %1, dims = [1, 2, 0, 3] : (tensor<9x2x3x8xf32>) -> tensor<2x3x9x8xf32>
  return %2 : tensor<2x3x9x8xf32>
}

// Windows in another order: what is to be scattered is transposed.
// CHECK-LABEL: func.func @windows
// CHECK: %[[U:.*]] = stablehlo.transpose %arg2, dims = [0, 2, 1] : (tensor<4x8x3xf32>) -> tensor<4x3x8xf32>
// CHECK: "stablehlo.scatter"(%arg0, %arg1, %[[U]]) {{.*}}inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]
func.func @windows(%c: tensor<3x9x8xf32>, %i: tensor<4x1xi32>, %u: tensor<4x8x3xf32>) -> tensor<3x9x8xf32> {
  %0 = stablehlo.transpose %c, dims = [1, 2, 0] : (tensor<3x9x8xf32>) -> tensor<9x8x3xf32>
  %1 = "stablehlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    stablehlo.return %q : tensor<f32>
  }) : (tensor<9x8x3xf32>, tensor<4x1xi32>, tensor<4x8x3xf32>) -> tensor<9x8x3xf32>
  %2 = stablehlo.transpose %1, dims = [2, 0, 1] : (tensor<9x8x3xf32>) -> tensor<3x9x8xf32>
  return %2 : tensor<3x9x8xf32>
}

// What is not brought back stays.
// CHECK-LABEL: func.func @stays
// CHECK: stablehlo.transpose %arg0
// CHECK: "stablehlo.scatter"
func.func @stays(%c: tensor<3x9xf32>, %i: tensor<4x1xi32>, %u: tensor<4x3xf32>) -> tensor<9x3xf32> {
  %0 = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x9xf32>) -> tensor<9x3xf32>
  %1 = "stablehlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    stablehlo.return %q : tensor<f32>
  }) : (tensor<9x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<9x3xf32>
  return %1 : tensor<9x3xf32>
}

// x[:, :, i]: the dimension is taken of where it is, and windows lie around it.
// CHECK-LABEL: func.func @middle
// CHECK-NOT: stablehlo.transpose
// CHECK: "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 3], collapsed_slice_dims = [2], start_index_map = [2], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 3, 1, 8>}> : (tensor<2x3x9x8xf32>, tensor<4xi32>) -> tensor<2x3x4x8xf32>
// CHECK-NOT: stablehlo.transpose
func.func @middle(%c: tensor<2x3x9x8xf32>, %i: tensor<4xi32>) -> tensor<2x3x4x8xf32> {
  %0 = stablehlo.transpose %c, dims = [2, 0, 1, 3] : (tensor<2x3x9x8xf32>) -> tensor<9x2x3x8xf32>
  %1 = "stablehlo.gather"(%0, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2, 3, 8>}> : (tensor<9x2x3x8xf32>, tensor<4xi32>) -> tensor<4x2x3x8xf32>
  %2 = stablehlo.transpose %1, dims = [1, 2, 0, 3] : (tensor<4x2x3x8xf32>) -> tensor<2x3x4x8xf32>
  return %2 : tensor<2x3x4x8xf32>
}

// A diagonal is less than the matrices, and is transposed instead of them; more than half of them is not.
// CHECK-LABEL: func.func @less
// CHECK: %[[G:.*]] = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1, 8>}>
// CHECK: stablehlo.transpose %[[G]], dims = [0, 2, 1] : (tensor<4x3x8xf32>) -> tensor<4x8x3xf32>
// CHECK: stablehlo.transpose %arg0
// CHECK: "stablehlo.gather"
func.func @less(%c: tensor<3x9x8xf32>, %i: tensor<4xi32>, %j: tensor<8xi32>) -> (tensor<4x8x3xf32>, tensor<8x8x3xf32>) {
  %0 = stablehlo.transpose %c, dims = [1, 2, 0] : (tensor<3x9x8xf32>) -> tensor<9x8x3xf32>
  %1 = "stablehlo.gather"(%0, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8, 3>}> : (tensor<9x8x3xf32>, tensor<4xi32>) -> tensor<4x8x3xf32>
  %2 = stablehlo.transpose %c, dims = [1, 2, 0] : (tensor<3x9x8xf32>) -> tensor<9x8x3xf32>
  %3 = "stablehlo.gather"(%2, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8, 3>}> : (tensor<9x8x3xf32>, tensor<8xi32>) -> tensor<8x8x3xf32>
  return %1, %3 : tensor<4x8x3xf32>, tensor<8x8x3xf32>
}
