// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %s = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %y = stablehlo.dynamic_reshape %x, %s : (tensor<2x3xi32>, tensor<2xi64>) -> tensor<3x2xi32>
  check.expect_eq_const %y, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = stablehlo.constant dense<[2, 2]> : tensor<2xi32>
  %y = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %sum = stablehlo.add %y, %y : tensor<?x?xf32>
  %back = stablehlo.constant dense<[4]> : tensor<1xi32>
  %z = stablehlo.dynamic_reshape %sum, %back : (tensor<?x?xf32>, tensor<1xi32>) -> tensor<4xf32>
  check.expect_eq_const %z, dense<[2.0, 4.0, 6.0, 8.0]> : tensor<4xf32>
  func.return
}
