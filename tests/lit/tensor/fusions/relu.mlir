// A relu is a part of a map, by whatever operation it is written.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=relu})' | FileCheck %s --check-prefix=OFF

// By a maximum.
// CHECK: tir.fusions = {relu = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {relu = -1 : i64}
// OFF: func.func @found
// OFF: = tir.map
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %0 = stablehlo.maximum %x, %z : tensor<4x8xf32>
  %1 = stablehlo.exponential %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// By a select.
// CHECK: tir.fusions = {relu = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %p = stablehlo.compare GT, %x, %z : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %0 = stablehlo.select %p, %x, %z : tensor<4x8xi1>, tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A maximum with another number.
// CHECK-NOT: relu =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %0 = stablehlo.maximum %x, %z : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// With other values.
// CHECK-NOT: relu =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.maximum %x, %y : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
