// Trap: gather, dynamic_slice and dynamic_update_slice clamp their start so that the whole slice fits.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[-9, 9]> : tensor<2xi32>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<3x4xi32>, tensor<2xi32>) -> tensor<2x4xi32>
  check.expect_eq_const %y, dense<[[0, 1, 2, 3], [8, 9, 10, 11]]> : tensor<2x4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<9> : tensor<i64>
  %y = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<3xi32>, tensor<i64>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[2, 3]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %u = stablehlo.constant dense<[8, 9]> : tensor<2xi32>
  %i = stablehlo.constant dense<2> : tensor<i64>
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xi32>, tensor<2xi32>, tensor<i64>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[1, 8, 9]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<-1> : tensor<i8>
  %y = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<3xi32>, tensor<i8>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[1, 2]> : tensor<2xi32>
  func.return
}
