// A sum of rows times one over their length is a mean, in one row operation.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=mean})' | FileCheck %s --check-prefix=OFF

// An eighth of eight.
// CHECK: tir.fusions = {mean = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.row
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {mean = -1 : i64}
// OFF: func.func @found
// OFF: = tir.row
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<0.125> : tensor<4xf32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.multiply %1, %n : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A quarter of eight.
// CHECK-NOT: mean =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<0.25> : tensor<4xf32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.multiply %1, %n : tensor<4xf32>
  return %2 : tensor<4xf32>
}
