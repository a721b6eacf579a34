// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %y = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  check.expect_eq_const %y, dense<3> : tensor<i32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x2xf32>
  %y = stablehlo.get_dimension_size %x, dim = 0 : (tensor<0x2xf32>) -> tensor<i32>
  check.expect_eq_const %y, dense<0> : tensor<i32>
  func.return
}
