// Values: the sum written out as loops in Python.

func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0], [1.0], [4.0]], [[0.0], [3.0], [-1.0]], [[2.0], [-2.0], [1.0]]]]> : tensor<1x3x3x1xf32>
  %k = stablehlo.constant dense<[[[[-1.0]], [[0.0]]], [[[1.0]], [[2.0]]]]> : tensor<2x2x1x1xf32>
  %p = stablehlo.constant dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>
  %y = "stablehlo.dynamic_conv"(%x, %k, %p) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 1, 1>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>, tensor<2x2xi64>) -> tensor<1x2x2x1xf32>
  check.expect_eq_const %y, dense<[[[[8.0], [0.0]], [[-2.0], [-3.0]]]]> : tensor<1x2x2x1xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[[[-2.0, 1.0], [4.0, 0.0], [3.0, -1.0]], [[2.0, -2.0], [1.0, 4.0], [0.0, 3.0]], [[-1.0, 2.0], [-2.0, 1.0], [4.0, 0.0]], [[3.0, -1.0], [2.0, -2.0], [1.0, 4.0]]]]> : tensor<1x4x3x2xf64>
  %k = stablehlo.constant dense<[[[[-1.0, 0.0], [1.0, 2.0]], [[-1.0, 0.0], [1.0, 2.0]]], [[[-1.0, 0.0], [1.0, 2.0]], [[-1.0, 0.0], [1.0, 2.0]]]]> : tensor<2x2x2x2xf64>
  %p = stablehlo.constant dense<[[1, 0], [1, 1]]> : tensor<2x2xi64>
  %y = "stablehlo.dynamic_conv"(%x, %k, %p) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 2, 1>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x3x2xf64>, tensor<2x2x2x2xf64>, tensor<2x2xi64>) -> tensor<1x2x4x2xf64>
  check.expect_eq_const %y, dense<[[[[3.0, 2.0], [-1.0, 2.0], [-8.0, -2.0], [-4.0, -2.0]], [[-1.0, 0.0], [5.0, 10.0], [5.0, 16.0], [-1.0, 6.0]]]]> : tensor<1x2x4x2xf64>
  func.return
}

// -----

// Quantized, as convolution is.
func.func @main() {
  %xf = stablehlo.constant dense<[[[[-2.0], [1.0], [4.0]], [[0.0], [3.0], [-1.0]], [[2.0], [-2.0], [1.0]]]]> : tensor<1x3x3x1xf32>
  %kf = stablehlo.constant dense<[[[[-1.0]], [[0.0]]], [[[1.0]], [[2.0]]]]> : tensor<2x2x1x1xf32>
  %x = stablehlo.uniform_quantize %xf : (tensor<1x3x3x1xf32>) -> tensor<1x3x3x1x!quant.uniform<i8:f32, 0.5:0>>
  %k = stablehlo.uniform_quantize %kf : (tensor<2x2x1x1xf32>) -> tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25:0>>
  %p = stablehlo.constant dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>
  %r = "stablehlo.dynamic_conv"(%x, %k, %p) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, window_strides = array<i64: 1, 1>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x3x3x1x!quant.uniform<i8:f32, 0.5:0>>, tensor<2x2x1x1x!quant.uniform<i8:f32, 0.25:0>>, tensor<2x2xi64>) -> tensor<1x2x2x1x!quant.uniform<i32:f32, 0.125:0>>
  %y = stablehlo.uniform_dequantize %r : (tensor<1x2x2x1x!quant.uniform<i32:f32, 0.125:0>>) -> tensor<1x2x2x1xf32>
  check.expect_eq_const %y, dense<[[[[8.0], [0.0]], [[-2.0], [-3.0]]]]> : tensor<1x2x2x1xf32>
  func.return
}
