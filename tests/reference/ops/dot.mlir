// Values: numpy.einsum; small whole numbers, so that every order of summation is exact.

func.func @main() {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
  %b = stablehlo.constant dense<[4, 5, 6]> : tensor<3xi64>
  %y = stablehlo.dot %a, %b : (tensor<3xi64>, tensor<3xi64>) -> tensor<i64>
  check.expect_eq_const %y, dense<32> : tensor<i64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = stablehlo.constant dense<[[-2.0, -1.0], [0.0, 1.0], [2.0, 3.0]]> : tensor<3x2xf32>
  %y = stablehlo.dot %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[4.0, 10.0], [4.0, 19.0]]> : tensor<2x2xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>
  %b = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf64>
  %y = stablehlo.dot %a, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2xf64>
  check.expect_eq_const %y, dense<[14.0, 32.0]> : tensor<2xf64>
  func.return
}
