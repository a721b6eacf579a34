// Values: numpy.einsum.

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = stablehlo.unary_einsum %a, config = "ab->a" : (tensor<2x3xf32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[6.0, 15.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.unary_einsum %a, config = "ab->ba" : (tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %y, dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  func.return
}
