// Trap: indices may be unsigned.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[2, 0]> : tensor<2xui8>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<3x4xi32>, tensor<2xui8>) -> tensor<2x4xi32>
  check.expect_eq_const %y, dense<[[8, 9, 10, 11], [0, 1, 2, 3]]> : tensor<2x4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<2> : tensor<ui32>
  %y = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
  check.expect_eq_const %y, dense<[3]> : tensor<1xi32>
  func.return
}
