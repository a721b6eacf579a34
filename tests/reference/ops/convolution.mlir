// Values: the sum written out as loops in Python; whole numbers, exact in every order.

func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0], [1.0], [4.0]], [[0.0], [3.0], [-1.0]], [[2.0], [-2.0], [1.0]]]]> : tensor<1x3x3x1xf32>
  %k = stablehlo.constant dense<[[[[-1.0]], [[0.0]]], [[[1.0]], [[2.0]]]]> : tensor<2x2x1x1xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>
  check.expect_eq_const %y, dense<[[[[8.0], [0.0]], [[-2.0], [-3.0]]]]> : tensor<1x2x2x1xf32>
  func.return
}

// -----

// Stride, padding and two features on both sides.
func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0, 1.0], [4.0, 0.0], [3.0, -1.0]], [[2.0, -2.0], [1.0, 4.0], [0.0, 3.0]], [[-1.0, 2.0], [-2.0, 1.0], [4.0, 0.0]], [[3.0, -1.0], [2.0, -2.0], [1.0, 4.0]]]]> : tensor<1x4x3x2xf32>
  %k = stablehlo.constant dense<[[[[-1.0, 0.0], [1.0, 2.0]], [[-1.0, 0.0], [1.0, 2.0]]], [[[-1.0, 0.0], [1.0, 2.0]], [[-1.0, 0.0], [1.0, 2.0]]]]> : tensor<2x2x2x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 0], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x3x2xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x4x2xf32>
  check.expect_eq_const %y, dense<[[[[3.0, 2.0], [-1.0, 2.0], [-8.0, -2.0], [-4.0, -2.0]], [[-1.0, 0.0], [5.0, 10.0], [5.0, 16.0], [-1.0, 6.0]]]]> : tensor<1x2x4x2xf32>
  func.return
}

// -----

// Base dilation: zeros between the elements.
func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0], [1.0]], [[4.0], [0.0]]]]> : tensor<1x2x2x1xf64>
  %k = stablehlo.constant dense<[[[[-1.0]], [[0.0]]], [[[1.0]], [[2.0]]]]> : tensor<2x2x1x1xf64>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [0, 0]], lhs_dilate = [2, 3], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x2x1xf64>, tensor<2x2x1x1xf64>) -> tensor<1x4x3x1xf64>
  check.expect_eq_const %y, dense<[[[[-2.0], [0.0], [2.0]], [[2.0], [0.0], [0.0]], [[4.0], [0.0], [0.0]], [[-4.0], [0.0], [0.0]]]]> : tensor<1x4x3x1xf64>
  func.return
}

// -----

// Window dilation and reversal.
func.func @main() {
  %x = stablehlo.constant dense<[[[[-2], [1], [4], [0]], [[3], [-1], [2], [-2]], [[1], [4], [0], [3]], [[-1], [2], [-2], [1]]]]> : tensor<1x4x4x1xi32>
  %k = stablehlo.constant dense<[[[[-1]], [[0]]], [[[1]], [[2]]]]> : tensor<2x2x1x1xi32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [2, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xi32>, tensor<2x2x1x1xi32>) -> tensor<1x2x3x1xi32>
  check.expect_eq_const %y, dense<[[[[-1], [5], [4]], [[2], [1], [0]]]]> : tensor<1x2x3x1xi32>
  func.return
}

// -----

// Feature groups.
func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0, 1.0, 4.0, 0.0], [3.0, -1.0, 2.0, -2.0]], [[1.0, 4.0, 0.0, 3.0], [-1.0, 2.0, -2.0, 1.0]]]]> : tensor<1x2x2x4xf32>
  %k = stablehlo.constant dense<[[[[-1.0, 0.0, 1.0, 2.0], [-1.0, 0.0, 1.0, 2.0]], [[-1.0, 0.0, 1.0, 2.0], [-1.0, 0.0, 1.0, 2.0]]]]> : tensor<1x2x2x4xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x1x4xf32>
  check.expect_eq_const %y, dense<[[[[-1.0, 0.0, 4.0, 8.0]], [[-6.0, 0.0, 2.0, 4.0]]]]> : tensor<1x2x1x4xf32>
  func.return
}

// -----

// Batch groups.
func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0], [1.0]], [[4.0], [0.0]]], [[[3.0], [-1.0]], [[2.0], [-2.0]]], [[[1.0], [4.0]], [[0.0], [3.0]]], [[[-1.0], [2.0]], [[-2.0], [1.0]]]]> : tensor<4x2x2x1xf32>
  %k = stablehlo.constant dense<[[[[-1.0, 0.0, 1.0, 2.0]]], [[[-1.0, 0.0, 1.0, 2.0]]]]> : tensor<2x1x1x4xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x2x2x1xf32>, tensor<2x1x1x4xf32>) -> tensor<2x1x2x4xf32>
  check.expect_eq_const %y, dense<[[[[-2.0, 0.0, 1.0, 2.0], [-1.0, 0.0, 7.0, 14.0]]], [[[-5.0, 0.0, -3.0, -6.0], [3.0, 0.0, 3.0, 6.0]]]]> : tensor<2x1x2x4xf32>
  func.return
}

// -----

// Negative padding.
func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0], [1.0], [4.0], [0.0]], [[3.0], [-1.0], [2.0], [-2.0]], [[1.0], [4.0], [0.0], [3.0]], [[-1.0], [2.0], [-2.0], [1.0]]]]> : tensor<1x4x4x1xbf16>
  %k = stablehlo.constant dense<[[[[-1.0]], [[0.0]]], [[[1.0]], [[2.0]]]]> : tensor<2x2x1x1xbf16>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[-1, 0], [0, -1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xbf16>, tensor<2x2x1x1xbf16>) -> tensor<1x2x2x1xbf16>
  check.expect_eq_const %y, dense<[[[[6.0], [5.0]], [[2.0], [-6.0]]]]> : tensor<1x2x2x1xbf16>
  func.return
}

// -----

// i8 to i32.
func.func @main() {
  %x = stablehlo.constant dense<[[[[-2], [1]], [[4], [0]]]]> : tensor<1x2x2x1xi8>
  %k = stablehlo.constant dense<[[[[-1]]]]> : tensor<1x1x1x1xi8>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x2x1xi8>, tensor<1x1x1x1xi8>) -> tensor<1x2x2x1xi32>
  check.expect_eq_const %y, dense<[[[[2], [-1]], [[-4], [0]]]]> : tensor<1x2x2x1xi32>
  func.return
}

// -----

// Other layouts: NCW, OIW, and the result as batch last. Sums of neighbours 1+2, 2+3 and 10+20, 20+30.
func.func @main() {
  %x = stablehlo.constant dense<[[[1.0, 2.0, 3.0]], [[10.0, 20.0, 30.0]]]> : tensor<2x1x3xf32>
  %k = stablehlo.constant dense<[[[1.0, 1.0]]]> : tensor<1x1x2xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[0, f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x1x3xf32>, tensor<1x1x2xf32>) -> tensor<2x1x2xf32>
  check.expect_eq_const %y, dense<[[[3.0, 30.0]], [[5.0, 50.0]]]> : tensor<2x1x2xf32>
  func.return
}
