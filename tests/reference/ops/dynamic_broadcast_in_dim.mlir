// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %s = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<2xi32>, tensor<2xi64>) -> tensor<3x2xi32>
  check.expect_eq_const %y, dense<[[1, 2], [1, 2], [1, 2]]> : tensor<3x2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[4.5]> : tensor<1xf32>
  %s = stablehlo.constant dense<[2, 2]> : tensor<2xi32>
  %y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<1xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[4.5, 4.5], [4.5, 4.5]]> : tensor<2x2xf32>
  func.return
}
