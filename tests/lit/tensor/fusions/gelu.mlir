// Gelu is one map.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(lower-chlo,compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(lower-chlo,compile-to-tensor{without=gelu})' | FileCheck %s --check-prefix=OFF

// By tanh.
// CHECK: tir.fusions = {gelu = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {gelu = -1 : i64}
// OFF: func.func @found
// OFF: = tir.map
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.constant dense<0.044715> : tensor<4x8xf32>
  %b = stablehlo.constant dense<0.79788456> : tensor<4x8xf32>
  %h = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %o = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %0 = stablehlo.multiply %x, %x : tensor<4x8xf32>
  %1 = stablehlo.multiply %0, %x : tensor<4x8xf32>
  %2 = stablehlo.multiply %1, %a : tensor<4x8xf32>
  %3 = stablehlo.add %x, %2 : tensor<4x8xf32>
  %4 = stablehlo.multiply %3, %b : tensor<4x8xf32>
  %5 = stablehlo.tanh %4 : tensor<4x8xf32>
  %6 = stablehlo.add %5, %o : tensor<4x8xf32>
  %7 = stablehlo.multiply %x, %6 : tensor<4x8xf32>
  %8 = stablehlo.multiply %7, %h : tensor<4x8xf32>
  return %8 : tensor<4x8xf32>
}

// -----

// By the error function, which is a polynomial by then.
// CHECK: tir.fusions = {gelu = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %h = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %o = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %r = stablehlo.constant dense<0.70710677> : tensor<4x8xf32>
  %0 = stablehlo.multiply %x, %r : tensor<4x8xf32>
  %1 = chlo.erf %0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = stablehlo.add %1, %o : tensor<4x8xf32>
  %3 = stablehlo.multiply %x, %h : tensor<4x8xf32>
  %4 = stablehlo.multiply %3, %2 : tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// With another factor.
// CHECK-NOT: gelu =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.constant dense<0.054715> : tensor<4x8xf32>
  %b = stablehlo.constant dense<0.79788456> : tensor<4x8xf32>
  %h = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %o = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %0 = stablehlo.multiply %x, %x : tensor<4x8xf32>
  %1 = stablehlo.multiply %0, %x : tensor<4x8xf32>
  %2 = stablehlo.multiply %1, %a : tensor<4x8xf32>
  %3 = stablehlo.add %x, %2 : tensor<4x8xf32>
  %4 = stablehlo.multiply %3, %b : tensor<4x8xf32>
  %5 = stablehlo.tanh %4 : tensor<4x8xf32>
  %6 = stablehlo.add %5, %o : tensor<4x8xf32>
  %7 = stablehlo.multiply %x, %6 : tensor<4x8xf32>
  %8 = stablehlo.multiply %7, %h : tensor<4x8xf32>
  return %8 : tensor<4x8xf32>
}
