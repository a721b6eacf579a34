// Values: NumPy. Start indices are clamped into range.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<1> : tensor<i64>
  %j = stablehlo.constant dense<1> : tensor<i64>
  %y = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2] : (tensor<3x4xi32>, tensor<i64>, tensor<i64>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[5, 6], [9, 10]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<9> : tensor<i64>
  %j = stablehlo.constant dense<-5> : tensor<i64>
  %y = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2] : (tensor<3x4xi32>, tensor<i64>, tensor<i64>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[4, 5], [8, 9]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<0> : tensor<i64>
  %j = stablehlo.constant dense<3> : tensor<i64>
  %y = stablehlo.dynamic_slice %x, %i, %j, sizes = [3, 1] : (tensor<3x4xi32>, tensor<i64>, tensor<i64>) -> tensor<3x1xi32>
  check.expect_eq_const %y, dense<[[3], [7], [11]]> : tensor<3x1xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<0> : tensor<i64>
  %j = stablehlo.constant dense<0> : tensor<i64>
  %y = stablehlo.dynamic_slice %x, %i, %j, sizes = [0, 2] : (tensor<3x4xi32>, tensor<i64>, tensor<i64>) -> tensor<0x2xi32>
  check.expect_eq_const %y, dense<> : tensor<0x2xi32>
  func.return
}
