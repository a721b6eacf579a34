// Mish is one map.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=mish})' | FileCheck %s --check-prefix=OFF

// With a logarithm of one plus.
// CHECK: tir.fusions = {mish = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {mish = -1 : i64}
// OFF: func.func @found
// OFF: = tir.map
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.exponential %x : tensor<4x8xf32>
  %1 = stablehlo.log_plus_one %0 : tensor<4x8xf32>
  %2 = stablehlo.tanh %1 : tensor<4x8xf32>
  %3 = stablehlo.multiply %x, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Without the exponential.
// CHECK-NOT: mish =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.abs %x : tensor<4x8xf32>
  %1 = stablehlo.log_plus_one %a : tensor<4x8xf32>
  %2 = stablehlo.tanh %1 : tensor<4x8xf32>
  %3 = stablehlo.multiply %x, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
