func.func @main(%a: tensor<100000x64xf32>, %i: tensor<100000x1xi32>) -> tensor<100000x64xf32> {
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>, indices_are_sorted = false} : (tensor<100000x64xf32>, tensor<100000x1xi32>) -> tensor<100000x64xf32>
  return %0 : tensor<100000x64xf32>
}
