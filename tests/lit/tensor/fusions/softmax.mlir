// Softmax of rows is one row operation.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=softmax})' | FileCheck %s --check-prefix=OFF

// Plain.
// CHECK: tir.fusions = {softmax = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.row
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {softmax = -1 : i64}
// OFF: func.func @found
// OFF: = tir.map
// OFF: = tir.row
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<4x8xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.divide %0, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Stable.
// CHECK: tir.fusions = {softmax = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.row
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %a = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %b = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %c = stablehlo.subtract %x, %b : tensor<4x8xf32>
  %0 = stablehlo.exponential %c : tensor<4x8xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.divide %0, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// One more than the sum.
// CHECK-NOT: softmax =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<4x8xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %o = stablehlo.constant dense<1.0> : tensor<4xf32>
  %p = stablehlo.add %1, %o : tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.divide %0, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Of columns, which are no rows.
// CHECK-NOT: softmax =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %a = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %b = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %c = stablehlo.subtract %x, %b : tensor<4x8xf32>
  %0 = stablehlo.exponential %c : tensor<4x8xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.divide %0, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
