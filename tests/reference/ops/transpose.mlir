// Values: NumPy.

func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %y, dense<[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]> : tensor<3x2xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23]]]> : tensor<2x3x4xi16>
  %y = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xi16>) -> tensor<4x2x3xi16>
  check.expect_eq_const %y, dense<[[[0, 4, 8], [12, 16, 20]], [[1, 5, 9], [13, 17, 21]], [[2, 6, 10], [14, 18, 22]], [[3, 7, 11], [15, 19, 23]]]> : tensor<4x2x3xi16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[[false, true, false, true], [false, true, false, true], [false, true, false, true]], [[false, true, false, true], [false, true, false, true], [false, true, false, true]]]> : tensor<2x3x4xi1>
  %y = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<2x3x4xi1>) -> tensor<3x4x2xi1>
  check.expect_eq_const %y, dense<[[[false, false], [true, true], [false, false], [true, true]], [[false, false], [true, true], [false, false], [true, true]], [[false, false], [true, true], [false, false], [true, true]]]> : tensor<3x4x2xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<0x3xf32>) -> tensor<3x0xf32>
  check.expect_eq_const %y, dense<> : tensor<3x0xf32>
  func.return
}
