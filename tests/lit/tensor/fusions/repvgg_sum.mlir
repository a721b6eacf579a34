// A sum of convolutions by 3 x 3 and 1 x 1 is one convolution where the kernels are constants.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=repvgg_sum})' | FileCheck %s --check-prefix=OFF

// The small kernel is added to the middle of the large one.
// CHECK: tir.fusions = {repvgg_sum = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.convolution
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {repvgg_sum = -1 : i64}
// OFF: func.func @found
// OFF: = tir.convolution
// OFF: = tir.convolution
// OFF: return
func.func @found(%x: tensor<1x6x6x4xf32>) -> tensor<1x6x6x8xf32> {
  %k = stablehlo.constant dense<0.5> : tensor<3x3x4x8xf32>
  %l = stablehlo.constant dense<0.25> : tensor<1x1x4x8xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  %1 = stablehlo.convolution(%x, %l) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<1x1x4x8xf32>) -> tensor<1x6x6x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x6x6x8xf32>
  return %2 : tensor<1x6x6x8xf32>
}

// -----

// A kernel is an argument.
// CHECK-NOT: repvgg_sum =
// CHECK: func.func @near
func.func @near(%x: tensor<1x6x6x4xf32>, %l: tensor<1x1x4x8xf32>) -> tensor<1x6x6x8xf32> {
  %k = stablehlo.constant dense<0.5> : tensor<3x3x4x8xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  %1 = stablehlo.convolution(%x, %l) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<1x1x4x8xf32>) -> tensor<1x6x6x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x6x6x8xf32>
  return %2 : tensor<1x6x6x8xf32>
}
