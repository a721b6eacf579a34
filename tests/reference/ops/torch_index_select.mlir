// Values: NumPy.

func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]> : tensor<3x4xf32>
  %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %y = "stablehlo.torch_index_select"(%x, %i) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<3x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  check.expect_eq_const %y, dense<[[8.0, 9.0, 10.0, 11.0], [0.0, 1.0, 2.0, 3.0]]> : tensor<2x4xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]> : tensor<3x4xf32>
  %i = stablehlo.constant dense<[3, 1, 1]> : tensor<3xi32>
  %y = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64} : (tensor<3x4xf32>, tensor<3xi32>) -> tensor<3x3xf32>
  check.expect_eq_const %y, dense<[[3.0, 1.0, 1.0], [7.0, 5.0, 5.0], [11.0, 9.0, 9.0]]> : tensor<3x3xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %i = stablehlo.constant dense<[[2, 0], [1, 1]]> : tensor<2x2xi32>
  %y = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<2x2xi32>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[2.0, 0.0], [4.0, 4.0]]> : tensor<2x2xf32>
  func.return
}
