// Silu is one map.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=silu})' | FileCheck %s --check-prefix=OFF

// With a logistic.
// CHECK: tir.fusions = {silu = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {silu = -1 : i64}
// OFF: func.func @found
// OFF: = tir.map
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.logistic %x : tensor<4x8xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Written out.
// CHECK: tir.fusions = {silu = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %o = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %n = stablehlo.negate %x : tensor<4x8xf32>
  %e = stablehlo.exponential %n : tensor<4x8xf32>
  %d = stablehlo.add %e, %o : tensor<4x8xf32>
  %1 = stablehlo.divide %x, %d : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// With a slope that is not one.
// CHECK-NOT: silu =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %b = stablehlo.constant dense<1.7> : tensor<4x8xf32>
  %s = stablehlo.multiply %x, %b : tensor<4x8xf32>
  %0 = stablehlo.logistic %s : tensor<4x8xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A gate is another value.
// CHECK-NOT: silu =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>, %g: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.logistic %g : tensor<4x8xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
