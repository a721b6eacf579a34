// Fusions are counted by name, what holds others once, and those that are left out say so; their operations are marked. Each has a test of its own in fusions/.
// RUN: cupel opt %s --pass-pipeline='builtin.module(name-fusions)' | FileCheck %s
// RUN: cupel opt %s --pass-pipeline='builtin.module(name-fusions{without=silu,relu})' | FileCheck %s --check-prefix=OFF

// CHECK: tir.fusions = {relu = 1 : i64, silu = 2 : i64}
// CHECK-NOT: cupel.alone
// OFF: tir.fusions = {relu = -1 : i64, silu = -1 : i64}
// OFF-COUNT-5: cupel.alone
// OFF: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %0 = stablehlo.logistic %x : tensor<4x8xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<4x8xf32>
  %2 = stablehlo.maximum %1, %z : tensor<4x8xf32>
  %3 = stablehlo.logistic %2 : tensor<4x8xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}
