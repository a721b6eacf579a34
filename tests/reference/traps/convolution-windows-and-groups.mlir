// Trap: padding and base dilation put zeros; reversal flips the window; feature groups split the features of the input, batch groups its batch, and both results are joined on the output feature.

func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0], [1.0]], [[4.0], [0.0]]]]> : tensor<1x2x2x1xf32>
  %k = stablehlo.constant dense<[[[[-1.0]], [[0.0]]], [[[1.0]], [[2.0]]]]> : tensor<2x2x1x1xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x2x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x4x4x1xf32>
  check.expect_eq_const %y, dense<[[[[-4.0], [-2.0], [2.0], [1.0]], [[0.0], [2.0], [0.0], [-1.0]], [[8.0], [4.0], [0.0], [0.0]], [[0.0], [-4.0], [0.0], [0.0]]]]> : tensor<1x4x4x1xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0], [1.0], [4.0]], [[0.0], [3.0], [-1.0]], [[2.0], [-2.0], [1.0]]]]> : tensor<1x3x3x1xf32>
  %k = stablehlo.constant dense<[[[[-1.0]], [[0.0]]], [[[1.0]], [[2.0]]]]> : tensor<2x2x1x1xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>
  check.expect_eq_const %y, dense<[[[[-6.0], [7.0]], [[5.0], [4.0]]]]> : tensor<1x2x2x1xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0, 1.0, 4.0, 0.0], [3.0, -1.0, 2.0, -2.0]], [[1.0, 4.0, 0.0, 3.0], [-1.0, 2.0, -2.0, 1.0]]]]> : tensor<1x2x2x4xf32>
  %k = stablehlo.constant dense<[[[[-1.0, 0.0], [1.0, 2.0]]]]> : tensor<1x1x2x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x2x4xf32>, tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32>
  check.expect_eq_const %y, dense<[[[[3.0, 0.0], [-4.0, -4.0]], [[3.0, 6.0], [3.0, 2.0]]]]> : tensor<1x2x2x2xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0], [1.0]], [[4.0], [0.0]]], [[[3.0], [-1.0]], [[2.0], [-2.0]]]]> : tensor<2x2x2x1xf32>
  %k = stablehlo.constant dense<[[[[-1.0, 0.0]]]]> : tensor<1x1x1x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x2x2x1xf32>, tensor<1x1x1x2xf32>) -> tensor<1x2x2x2xf32>
  check.expect_eq_const %y, dense<[[[[2.0, 0.0], [-1.0, 0.0]], [[-4.0, 0.0], [0.0, 0.0]]]]> : tensor<1x2x2x2xf32>
  func.return
}
