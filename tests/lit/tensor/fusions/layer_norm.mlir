// A layer norm is one row operation, with weight and bias.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=layer_norm})' | FileCheck %s --check-prefix=OFF

// With both.
// CHECK: tir.fusions = {layer_norm = 1 : i64}
// CHECK: func.func @found
// CHECK: = tir.row
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
// OFF: tir.fusions = {layer_norm = -1 : i64}
// OFF: func.func @found
// OFF: = tir.row
// OFF: = tir.map
// OFF: = tir.row
// OFF: return
func.func @found(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<0.125> : tensor<4xf32>
  %e = stablehlo.constant dense<1.0e-5> : tensor<4xf32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %mu = stablehlo.multiply %s, %n : tensor<4xf32>
  %mb = stablehlo.broadcast_in_dim %mu, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %c = stablehlo.subtract %x, %mb : tensor<4x8xf32>
  %0 = stablehlo.multiply %c, %c : tensor<4x8xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.multiply %1, %n : tensor<4xf32>
  %3 = stablehlo.add %2, %e : tensor<4xf32>
  %4 = stablehlo.rsqrt %3 : tensor<4xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.multiply %c, %5 : tensor<4x8xf32>
  %7 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<4x8xf32>
  %9 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %10 = stablehlo.add %8, %9 : tensor<4x8xf32>
  return %10 : tensor<4x8xf32>
}

// -----

// What is divided is not centred.
// CHECK-NOT: layer_norm =
// CHECK: func.func @near
func.func @near(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<0.125> : tensor<4xf32>
  %e = stablehlo.constant dense<1.0e-5> : tensor<4xf32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %mu = stablehlo.multiply %s, %n : tensor<4xf32>
  %mb = stablehlo.broadcast_in_dim %mu, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %c = stablehlo.subtract %x, %mb : tensor<4x8xf32>
  %0 = stablehlo.multiply %c, %c : tensor<4x8xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.multiply %1, %n : tensor<4xf32>
  %3 = stablehlo.add %2, %e : tensor<4xf32>
  %4 = stablehlo.rsqrt %3 : tensor<4xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.multiply %x, %5 : tensor<4x8xf32>
  %7 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<4x8xf32>
  %9 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %10 = stablehlo.add %8, %9 : tensor<4x8xf32>
  return %10 : tensor<4x8xf32>
}
