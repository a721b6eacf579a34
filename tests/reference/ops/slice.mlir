// Values: NumPy.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
  %y = stablehlo.slice %x [1:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<1x2xi32>
  check.expect_eq_const %y, dense<[[3, 5]]> : tensor<1x2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]], [[12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0], [20.0, 21.0, 22.0, 23.0]]]> : tensor<2x3x4xf32>
  %y = stablehlo.slice %x [0:2, 1:3, 0:4:3] : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
  check.expect_eq_const %y, dense<[[[4.0, 7.0], [8.0, 11.0]], [[16.0, 19.0], [20.0, 23.0]]]> : tensor<2x2x2xf32>
  func.return
}

// -----

// Empty when start is limit.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi8>
  %y = stablehlo.slice %x [2:2] : (tensor<3xi8>) -> tensor<0xi8>
  check.expect_eq_const %y, dense<> : tensor<0xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<4> : tensor<i64>
  %y = stablehlo.slice %x [] : (tensor<i64>) -> tensor<i64>
  check.expect_eq_const %y, dense<4> : tensor<i64>
  func.return
}
