// Values: NumPy. Start indices are clamped into range.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %u = stablehlo.constant dense<[[-1, -2], [-3, -4]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %j = stablehlo.constant dense<1> : tensor<i32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  check.expect_eq_const %y, dense<[[0, -1, -2, 3], [4, -3, -4, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %u = stablehlo.constant dense<[[-1, -2], [-3, -4]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<5> : tensor<i32>
  %j = stablehlo.constant dense<5> : tensor<i32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  check.expect_eq_const %y, dense<[[0, 1, 2, 3], [4, 5, -1, -2], [8, 9, -3, -4]]> : tensor<3x4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %u = stablehlo.constant dense<[[-1, -2], [-3, -4]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<-3> : tensor<i32>
  %j = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  check.expect_eq_const %y, dense<[[-1, -2, 2, 3], [-3, -4, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  func.return
}

// -----

// An empty update changes nothing.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %u = stablehlo.constant dense<> : tensor<0xf32>
  %i = stablehlo.constant dense<1> : tensor<i32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<2xf32>, tensor<0xf32>, tensor<i32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}
