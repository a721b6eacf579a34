// Products that share a left side (query, key and value; gate and up) stay products of their own: their weights are packed apart, and what is done to the elements of each stays with it.
// RUN: cupel opt %s --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace

// CHECK-NOT: tir.fusions
// CHECK: = tir.product
// CHECK: = tir.product
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x6xf32>, %v: tensor<6x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
