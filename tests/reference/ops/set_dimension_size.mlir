// Values: by hand. The tensor is cut to the size given.

func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %n = stablehlo.constant dense<2> : tensor<i32>
  %y = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x?xi32, #stablehlo.bounds<?, 3>>
  %size = stablehlo.get_dimension_size %y, dim = 1 : (tensor<2x?xi32, #stablehlo.bounds<?, 3>>) -> tensor<i32>
  check.expect_eq_const %size, dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x?xi32, #stablehlo.bounds<?, 3>>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %sum, dense<[3, 9]> : tensor<2xi32>
  func.return
}

// -----

// The whole size leaves the values as they are.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %n = stablehlo.constant dense<2> : tensor<i32>
  %y = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}
