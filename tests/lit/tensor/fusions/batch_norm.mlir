// What a batch norm leaves behind a convolution is done while that is at hand.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=batch_norm})' | FileCheck %s --check-prefix=OFF

// A scale and a shift.
// CHECK: tir.fusions = {batch_norm = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.convolution
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {batch_norm = -1 : i64}
// OFF: func.func @found
// OFF: = tir.convolution
// OFF: = tir.map
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<1x6x6x4xf32>, %f: tensor<3x3x4x8xf32>, %s: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<1x4x4x8xf32>
  %3 = stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %4 = stablehlo.add %2, %3 : tensor<1x4x4x8xf32>
  return %4 : tensor<1x4x4x8xf32>
}

// -----

// As torch writes it: less the mean, times the deviation, times the weight, plus the bias.
// CHECK: tir.fusions = {batch_norm = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.convolution
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @found(%x: tensor<1x6x6x4xf32>, %f: tensor<3x3x4x8xf32>, %m: tensor<8xf32>, %d: tensor<8xf32>, %s: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
  %1 = stablehlo.broadcast_in_dim %m, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<1x4x4x8xf32>
  %3 = stablehlo.broadcast_in_dim %d, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<1x4x4x8xf32>
  %5 = stablehlo.broadcast_in_dim %s, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %6 = stablehlo.multiply %4, %5 : tensor<1x4x4x8xf32>
  %7 = stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %8 = stablehlo.add %6, %7 : tensor<1x4x4x8xf32>
  return %8 : tensor<1x4x4x8xf32>
}

// -----

// Two shifts and no scale.
// CHECK-NOT: batch_norm =
// CHECK: func.func @near
func.func @near(%x: tensor<1x6x6x4xf32>, %f: tensor<3x3x4x8xf32>, %s: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x4x4x8xf32>
  %3 = stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %4 = stablehlo.add %2, %3 : tensor<1x4x4x8xf32>
  return %4 : tensor<1x4x4x8xf32>
}
