// Relu6 is one map, and holds no relu.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=relu6})' | FileCheck %s --check-prefix=OFF

// By a maximum and a minimum.
// CHECK: tir.fusions = {relu6 = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {relu6 = -1 : i64}
// OFF: func.func @found
// OFF: = tir.map
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %s = stablehlo.constant dense<6.0> : tensor<4x8xf32>
  %0 = stablehlo.maximum %x, %z : tensor<4x8xf32>
  %1 = stablehlo.minimum %0, %s : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// By a clamp.
// CHECK: tir.fusions = {relu6 = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.constant dense<6.0> : tensor<f32>
  %0 = stablehlo.clamp %z, %x, %s : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Up to five is none.
// CHECK-NOT: relu6 =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %s = stablehlo.constant dense<5.0> : tensor<4x8xf32>
  %0 = stablehlo.maximum %x, %z : tensor<4x8xf32>
  %1 = stablehlo.minimum %0, %s : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
