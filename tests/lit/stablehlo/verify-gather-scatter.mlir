// RUN: cupel opt %s --split-input-file --verify-diagnostics

// gather, dynamic_gather and scatter.

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<?x5x2xi32, #stablehlo.bounds<7, ?, ?>>) {
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<?x5x2xi32, #stablehlo.bounds<7, ?, ?>>) -> tensor<7x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4x9xf32>, %i: tensor<5x3x2xi32>) {
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [2, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<3x4x9xf32>, tensor<5x3x2xi32>) -> tensor<5x3x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op inferred type(s) 'tensor<1x5x8xf32>' are incompatible with return type(s) of operation 'tensor<1x5x9xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x9xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<?x5x2xi32, #stablehlo.bounds<7, ?, ?>>) {
  // expected-error@+2 {{'stablehlo.gather' op inferred type(s) 'tensor<?x5x8xf32, #stablehlo.bounds<7, ?, ?>>' are incompatible with return type(s) of operation 'tensor<8x5x8xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<?x5x2xi32, #stablehlo.bounds<7, ?, ?>>) -> tensor<8x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op index_vector_dim must be in [0, 3], the rank of start_indices, but is 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 4>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op index_vector_dim must be in [0, 3], the rank of start_indices, but is -1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = -1>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op the rank of operand (3) must be the number of dimensions in offset_dims, collapsed_slice_dims and operand_batching_dims together (2)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op offset_dims must name dimensions of the result, but 3 is outside [0, 3)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [3], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op offset_dims must be sorted, but got [3, 2]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [3, 2], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x1x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op offset_dims must not name a dimension twice, but got [2, 2]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2, 2], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x1x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op collapsed_slice_dims must be sorted, but got [1, 0]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1, 0], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op collapsed_slice_dims must name dimensions of operand, but 3 is outside [0, 3)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 3], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op collapsed_slice_dims and operand_batching_dims together must not name a dimension twice, but got [1, 1]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op start_index_map and operand_batching_dims together must not name a dimension twice, but got [0, 0]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 0], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op start_index_map must name dimensions of operand, but 5 is outside [0, 3)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 5], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op start_index_map must have one entry per element of the index vector, but has 1 for 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op slice_sizes must have one entry per dimension of operand, but got 2 entries for rank 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op slice size must be in [0, size of the dimension], but is 10 for size 9 in dimension 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 10>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x10xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op slice size must be at most 1 in collapsed_slice_dims and operand_batching_dims, but is 2 in dimension 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 2, 8>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4x9xf32>, %i: tensor<5x4x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op batching dimension 0 of operand must have the size of dimension 1 of start_indices, but got 3 and 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [2, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<3x4x9xf32>, tensor<5x4x2xi32>) -> tensor<5x3x8xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4x9xf32>, %i: tensor<5x3x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op start_indices_batching_dims must not contain index_vector_dim 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [2, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<3x4x9xf32>, tensor<5x3x2xi32>) -> tensor<5x3x8xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4x9xf32>, %i: tensor<5x3x2xi32>) {
  // expected-error@+2 {{'stablehlo.gather' op operand_batching_dims and start_indices_batching_dims must have the same length, but got 1 and 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 8>} : (tensor<3x4x9xf32>, tensor<5x3x2xi32>) -> tensor<5x3x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>, %s: tensor<2xi32>) {
  // expected-error@+2 {{'stablehlo.dynamic_gather' op slice_sizes must have one entry per dimension of operand, but got 2 entries for rank 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>, tensor<2xi32>) -> tensor<1x5x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x9xf32>, %i: tensor<1x5x2xi32>) {
  %s = stablehlo.constant dense<[1, 1, 8]> : tensor<3xi32>
  // expected-error@+2 {{'stablehlo.dynamic_gather' op inferred type(s) 'tensor<1x5x8xf32>' are incompatible with return type(s) of operation 'tensor<1x5x7xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>} : (tensor<2x4x9xf32>, tensor<1x5x2xi32>, tensor<3xi32>) -> tensor<1x5x7xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    stablehlo.return %y : tensor<f64>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf64>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x5xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op windows must not be larger than the inputs, but dimension 1 of updates has size 5 for 4}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<2x4xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op dimension 0 of updates must have the size that scatter_indices has there, but got 2 and 3}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4x1xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op the rank of updates must be 2 (scatter_indices without the index vector, and update_window_dims), but is 3}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4x1xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op the rank of inputs (2) must be the number of dimensions in update_window_dims, inserted_window_dims and input_batching_dims together (1)}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op index_vector_dim must be in [0, 2], the rank of scatter_indices, but is 3}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 3>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op scatter_dims_to_operand_dims must have one entry per element of the index vector, but has 2 for 1}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op update_window_dims must name dimensions of updates, but 2 is outside [0, 2)}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op region 'update_computation' must take 2 arguments (accumulated and new values), but takes 1}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op region 'update_computation' must return 1 values, but returns 2}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x, %x : tensor<f32>, tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %i: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op region 'update_computation' computes on 'f16', which input #0 of element type 'f32' cannot be promoted to}}
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    stablehlo.return %x : tensor<f16>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5xf32>, %i: tensor<1xi32>) {
  // expected-error@+1 {{'stablehlo.scatter' op expects N inputs, scatter_indices, N updates and N results with N > 0, but got 1 operands and 0 results}}
  "stablehlo.scatter"(%i) ({
  ^bb0:
    stablehlo.return
  }) {scatter_dimension_numbers = #stablehlo.scatter<>} : (tensor<1xi32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<5xf32>, %i: tensor<1xi32>) {
  // expected-error@+1 {{'stablehlo.scatter' op expects N inputs, scatter_indices, N updates and N results with N > 0, but got 2 operands and 1 results}}
  %0 = "stablehlo.scatter"(%i, %a) ({
  ^bb0:
    stablehlo.return
  }) {scatter_dimension_numbers = #stablehlo.scatter<>} : (tensor<1xi32>, tensor<5xf32>) -> tensor<5xf32>
  return
}
