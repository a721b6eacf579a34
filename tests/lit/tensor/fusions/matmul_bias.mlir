// A bias is added while the product is at hand.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=matmul_bias})' | FileCheck %s --check-prefix=OFF

// A number for each column.
// CHECK: tir.fusions = {matmul_bias = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.product
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {matmul_bias = -1 : i64}
// OFF: func.func @found
// OFF: = tir.product
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %c: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A number for each row is no bias.
// CHECK-NOT: matmul_bias =
// CHECK: func.func @near
func.func @near(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %c: tensor<4xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A residual is none.
// CHECK-NOT: matmul_bias =
// CHECK: func.func @near
func.func @near(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.add %0, %c : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
