// A hard sigmoid is one map, and holds no relu6.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=hardsigmoid})' | FileCheck %s --check-prefix=OFF

// A sixth at the end.
// CHECK: tir.fusions = {hardsigmoid = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {hardsigmoid = -1 : i64}
// OFF: func.func @found
// OFF: = tir.map
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %t = stablehlo.constant dense<3.0> : tensor<4x8xf32>
  %s = stablehlo.constant dense<6.0> : tensor<4x8xf32>
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %i = stablehlo.constant dense<0.16666667> : tensor<4x8xf32>
  %0 = stablehlo.add %x, %t : tensor<4x8xf32>
  %1 = stablehlo.maximum %0, %z : tensor<4x8xf32>
  %2 = stablehlo.minimum %1, %s : tensor<4x8xf32>
  %3 = stablehlo.multiply %2, %i : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// A sixth in front.
// CHECK: tir.fusions = {hardsigmoid = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @found(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %i = stablehlo.constant dense<0.16666667> : tensor<4x8xf32>
  %h = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %o = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %0 = stablehlo.multiply %x, %i : tensor<4x8xf32>
  %1 = stablehlo.add %0, %h : tensor<4x8xf32>
  %2 = stablehlo.maximum %1, %z : tensor<4x8xf32>
  %3 = stablehlo.minimum %2, %o : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// A fifth, as ONNX has it by default.
// CHECK-NOT: hardsigmoid =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %i = stablehlo.constant dense<0.2> : tensor<4x8xf32>
  %h = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %o = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %0 = stablehlo.multiply %x, %i : tensor<4x8xf32>
  %1 = stablehlo.add %0, %h : tensor<4x8xf32>
  %2 = stablehlo.maximum %1, %z : tensor<4x8xf32>
  %3 = stablehlo.minimum %2, %o : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
