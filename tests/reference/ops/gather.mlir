// Values: NumPy.

// Rows.
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[2, 0, 2]> : tensor<3xi32>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<3x4xi32>, tensor<3xi32>) -> tensor<3x4xi32>
  check.expect_eq_const %y, dense<[[8, 9, 10, 11], [0, 1, 2, 3], [8, 9, 10, 11]]> : tensor<3x4xi32>
  func.return
}

// -----

// Start indices are clamped into range.
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[-5, 7]> : tensor<2xi32>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<3x4xi32>, tensor<2xi32>) -> tensor<2x4xi32>
  check.expect_eq_const %y, dense<[[0, 1, 2, 3], [8, 9, 10, 11]]> : tensor<2x4xi32>
  func.return
}

// -----

// Batching dimensions.
func.func @main() {
  %x = stablehlo.constant dense<[[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[6.0, 7.0], [8.0, 9.0], [10.0, 11.0]]]> : tensor<2x3x2xf32>
  %i = stablehlo.constant dense<[[[2], [0]], [[1], [1]]]> : tensor<2x2x1xi32>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1, 2>
  }> : (tensor<2x3x2xf32>, tensor<2x2x1xi32>) -> tensor<2x2x2xf32>
  check.expect_eq_const %y, dense<[[[4.0, 5.0], [0.0, 1.0]], [[8.0, 9.0], [8.0, 9.0]]]> : tensor<2x2x2xf32>
  func.return
}

// -----

// Single elements.
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi32>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>
  }> : (tensor<3x4xi32>, tensor<3x2xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[1, 6, 11]> : tensor<3xi32>
  func.return
}

// -----

// Windows; the index vector names the columns first.
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[[0, 0], [1, 2]]> : tensor<2x2xi32>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [1, 0], index_vector_dim = 1>,
    slice_sizes = array<i64: 2, 2>
  }> : (tensor<3x4xi32>, tensor<2x2xi32>) -> tensor<2x2x2xi32>
  check.expect_eq_const %y, dense<[[[0, 1], [4, 5]], [[5, 6], [9, 10]]]> : tensor<2x2x2xi32>
  func.return
}

// -----

// No index at all.
func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<> : tensor<0xi32>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<3x4xi32>, tensor<0xi32>) -> tensor<0x4xi32>
  check.expect_eq_const %y, dense<> : tensor<0x4xi32>
  func.return
}

// -----

// Columns of narrow elements: those of a box lie apart, whatever its bytes are together.
func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xbf16>
  %w = stablehlo.constant dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi8>
  %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>,
    slice_sizes = array<i64: 2, 1>
  }> : (tensor<2x3xbf16>, tensor<2xi32>) -> tensor<2x2xbf16>
  %z = "stablehlo.gather"(%w, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>,
    slice_sizes = array<i64: 4, 1>
  }> : (tensor<4x2xi8>, tensor<2xi32>) -> tensor<4x2xi8>
  check.expect_eq_const %y, dense<[[2.0, 0.0], [5.0, 3.0]]> : tensor<2x2xbf16>
  check.expect_eq_const %z, dense<[[1, 0], [3, 2], [5, 4], [7, 6]]> : tensor<4x2xi8>
  func.return
}
