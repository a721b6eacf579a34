// Products, a softmax of their rows and products with these are one operation.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=attention})' | FileCheck %s --check-prefix=OFF

// Scaled dot product attention.
// CHECK: tir.fusions = {attention = 1 : i64, softmax = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.attention
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {attention = -1 : i64, softmax = 1 : i64}
// OFF: func.func @found
// OFF: = tir.product
// OFF: = tir.row
// OFF: = tir.product
// OFF: return
func.func @found(%q: tensor<2x32x16xf32>, %k: tensor<2x64x16xf32>, %v: tensor<2x64x16xf32>) -> tensor<2x32x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x32x16xf32>, tensor<2x64x16xf32>) -> tensor<2x32x64xf32>
  %e = stablehlo.exponential %s : tensor<2x32x64xf32>
  %t = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x32x64xf32>, tensor<f32>) -> tensor<2x32xf32>
  %b = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x64xf32>
  %p = stablehlo.divide %e, %b : tensor<2x32x64xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x32x64xf32>, tensor<2x64x16xf32>) -> tensor<2x32x16xf32>
  return %o : tensor<2x32x16xf32>
}

// -----

// Too few scores for machine code of their own.
// CHECK-NOT: attention =
// CHECK: func.func @near
func.func @near(%q: tensor<2x32x16xf32>, %k: tensor<2x8x16xf32>, %v: tensor<2x8x16xf32>) -> tensor<2x32x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x32x16xf32>, tensor<2x8x16xf32>) -> tensor<2x32x8xf32>
  %e = stablehlo.exponential %s : tensor<2x32x8xf32>
  %t = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x32x8xf32>, tensor<f32>) -> tensor<2x32xf32>
  %b = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x8xf32>
  %p = stablehlo.divide %e, %b : tensor<2x32x8xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x32x8xf32>, tensor<2x8x16xf32>) -> tensor<2x32x16xf32>
  return %o : tensor<2x32x16xf32>
}
