// Values: NumPy.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %start = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
  %limit = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %stride = stablehlo.constant dense<[2, 2]> : tensor<2xi64>
  %y = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<3x4xi32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[1, 3], [9, 11]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %start = stablehlo.constant dense<[1]> : tensor<1xi32>
  %limit = stablehlo.constant dense<[4]> : tensor<1xi32>
  %stride = stablehlo.constant dense<[1]> : tensor<1xi32>
  %y = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<5xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  %n = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  check.expect_eq_const %n, dense<3> : tensor<i32>
  func.return
}
