// A bias is added while the convolution is at hand.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=conv_bias})' | FileCheck %s --check-prefix=OFF

// A number for each channel.
// CHECK: tir.fusions = {conv_bias = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.convolution
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {conv_bias = -1 : i64}
// OFF: func.func @found
// OFF: = tir.convolution
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<1x6x6x4xf32>, %f: tensor<3x3x4x8xf32>, %c: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x4x4x8xf32>
  return %2 : tensor<1x4x4x8xf32>
}

// -----

// A number for each column of the image.
// CHECK-NOT: conv_bias =
// CHECK: func.func @near
func.func @near(%x: tensor<1x6x6x4xf32>, %f: tensor<3x3x4x8xf32>, %c: tensor<4xf32>) -> tensor<1x4x4x8xf32> {
  %0 = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [2] : (tensor<4xf32>) -> tensor<1x4x4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x4x4x8xf32>
  return %2 : tensor<1x4x4x8xf32>
}
