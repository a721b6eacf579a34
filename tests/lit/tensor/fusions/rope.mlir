// Rotary embeddings are one map.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=rope})' | FileCheck %s --check-prefix=OFF

// By halves, as Llama and GPT-NeoX have them.
// CHECK: tir.fusions = {rope = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {rope = -1 : i64}
// OFF: func.func @found
// OFF: stablehlo.concatenate
// OFF: = tir.map
// OFF: return
func.func @found(%x: tensor<2x3x8xf32>, %c: tensor<3x8xf32>, %s: tensor<3x8xf32>) -> tensor<2x3x8xf32> {
  %a = stablehlo.slice %x [0:2, 0:3, 0:4] : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  %b = stablehlo.slice %x [0:2, 0:3, 4:8] : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  %n = stablehlo.negate %b : tensor<2x3x4xf32>
  %r = stablehlo.concatenate %n, %a, dim = 2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  %cb = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<3x8xf32>) -> tensor<2x3x8xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [1, 2] : (tensor<3x8xf32>) -> tensor<2x3x8xf32>
  %p = stablehlo.multiply %x, %cb : tensor<2x3x8xf32>
  %q = stablehlo.multiply %r, %sb : tensor<2x3x8xf32>
  %o = stablehlo.add %p, %q : tensor<2x3x8xf32>
  return %o : tensor<2x3x8xf32>
}

// -----

// Even and odd elements, as GPT-J has them: edges at every second element cost more than a copy.
// CHECK-NOT: rope =
// CHECK: func.func @near
func.func @near(%x: tensor<2x3x8xf32>, %c: tensor<3x8xf32>, %s: tensor<3x8xf32>) -> tensor<2x3x8xf32> {
  %a = stablehlo.slice %x [0:2, 0:3, 0:8:2] : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  %b = stablehlo.slice %x [0:2, 0:3, 1:8:2] : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  %n = stablehlo.negate %b : tensor<2x3x4xf32>
  %ra = stablehlo.reshape %a : (tensor<2x3x4xf32>) -> tensor<2x3x4x1xf32>
  %rn = stablehlo.reshape %n : (tensor<2x3x4xf32>) -> tensor<2x3x4x1xf32>
  %j = stablehlo.concatenate %rn, %ra, dim = 3 : (tensor<2x3x4x1xf32>, tensor<2x3x4x1xf32>) -> tensor<2x3x4x2xf32>
  %r = stablehlo.reshape %j : (tensor<2x3x4x2xf32>) -> tensor<2x3x8xf32>
  %cb = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<3x8xf32>) -> tensor<2x3x8xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [1, 2] : (tensor<3x8xf32>) -> tensor<2x3x8xf32>
  %p = stablehlo.multiply %x, %cb : tensor<2x3x8xf32>
  %q = stablehlo.multiply %r, %sb : tensor<2x3x8xf32>
  %o = stablehlo.add %p, %q : tensor<2x3x8xf32>
  return %o : tensor<2x3x8xf32>
}

// -----

// Halves that change places and no sign.
// CHECK-NOT: rope =
// CHECK: func.func @near
func.func @near(%x: tensor<2x3x8xf32>, %c: tensor<3x8xf32>, %s: tensor<3x8xf32>) -> tensor<2x3x8xf32> {
  %a = stablehlo.slice %x [0:2, 0:3, 0:4] : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  %b = stablehlo.slice %x [0:2, 0:3, 4:8] : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  %r = stablehlo.concatenate %b, %a, dim = 2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  %cb = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<3x8xf32>) -> tensor<2x3x8xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [1, 2] : (tensor<3x8xf32>) -> tensor<2x3x8xf32>
  %p = stablehlo.multiply %x, %cb : tensor<2x3x8xf32>
  %q = stablehlo.multiply %r, %sb : tensor<2x3x8xf32>
  %o = stablehlo.add %p, %q : tensor<2x3x8xf32>
  return %o : tensor<2x3x8xf32>
}
