// Values: NumPy.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[2, 0, 2]> : tensor<3xi32>
  %sizes = stablehlo.constant dense<[1, 4]> : tensor<2xi64>
  %y = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<3x4xi32>, tensor<3xi32>, tensor<2xi64>) -> tensor<3x4xi32>
  check.expect_eq_const %y, dense<[[8, 9, 10, 11], [0, 1, 2, 3], [8, 9, 10, 11]]> : tensor<3x4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[-5, 7]> : tensor<2xi32>
  %sizes = stablehlo.constant dense<[1, 4]> : tensor<2xi64>
  %y = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  }> : (tensor<3x4xi32>, tensor<2xi32>, tensor<2xi64>) -> tensor<2x4xi32>
  check.expect_eq_const %y, dense<[[0, 1, 2, 3], [8, 9, 10, 11]]> : tensor<2x4xi32>
  func.return
}
