func.func @main(%a: tensor<100000x64xf32>, %i: tensor<100000x1xi32>, %u: tensor<100000x64xf32>) -> tensor<100000x64xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false} : (tensor<100000x64xf32>, tensor<100000x1xi32>, tensor<100000x64xf32>) -> tensor<100000x64xf32>
  return %0 : tensor<100000x64xf32>
}
