// Values: by hand.

func.func @main() {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %y = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi64>) -> tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf32>
  func.return
}

// -----

func.func @main() {
  %s = stablehlo.constant dense<[4]> : tensor<1xi32>
  %y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  %n = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  check.expect_eq_const %n, dense<4> : tensor<i32>
  %two = stablehlo.constant dense<[2, 2]> : tensor<2xi32>
  %z = stablehlo.dynamic_reshape %y, %two : (tensor<?xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %z, dense<[[0, 1], [2, 3]]> : tensor<2x2xi32>
  func.return
}
