// A transpose that only products read is a way of reading.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=permute_matmul})' | FileCheck %s --check-prefix=OFF

// Of the left side.
// CHECK: tir.fusions = {permute_matmul = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.product
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {permute_matmul = -1 : i64}
// OFF: func.func @found
// OFF: = tir.map
// OFF: = tir.product
// OFF: return
func.func @found(%x: tensor<6x4xf32>, %w: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %0 = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Somebody else needs it.
// CHECK-NOT: permute_matmul =
// CHECK: func.func @near
func.func @near(%x: tensor<6x4xf32>, %w: tensor<6x8xf32>) -> (tensor<4x8xf32>, tensor<4x6xf32>) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %0 = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %0, %t : tensor<4x8xf32>, tensor<4x6xf32>
}
