// The gradient of an embedding look-up: rows are added where their token stands, then looked up.
module @scatter {
  func.func @main(%table: tensor<32x8xf32>, %tokens: tensor<4x6xi32>, %gradient: tensor<4x6x8xf32>) -> (tensor<32x8xf32>, tensor<4x6x8xf32>) {
    %indices = stablehlo.reshape %tokens : (tensor<4x6xi32>) -> tensor<4x6x1xi32>
    %updated = "stablehlo.scatter"(%table, %indices, %gradient) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
    ^bb0(%current: tensor<f32>, %update: tensor<f32>):
      %sum = stablehlo.add %current, %update : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<32x8xf32>, tensor<4x6x1xi32>, tensor<4x6x8xf32>) -> tensor<32x8xf32>
    %rows = "stablehlo.gather"(%updated, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 8>}> : (tensor<32x8xf32>, tensor<4x6x1xi32>) -> tensor<4x6x8xf32>
    return %updated, %rows : tensor<32x8xf32>, tensor<4x6x8xf32>
  }
}
