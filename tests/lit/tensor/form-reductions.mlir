// A reduction makes the elements that it combines.
// RUN: cupel opt %s --form-reductions | FileCheck %s

// CHECK: tir.reduce "add"(%arg0, %arg1) from 1.000000e+00 : f32 over [8, 5] reducing [0] reading [#tir.view<0, [5, 1]>, #tir.view<0, [0, 1]>]
// CHECK: stablehlo.multiply
// CHECK-NOT: stablehlo.reduce
func.func @main(%x: tensor<2x4x5xf32>, %w: tensor<5xf32>) -> tensor<5xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %w, dims = [2] : (tensor<5xf32>) -> tensor<2x4x5xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<2x4x5xf32>
  %2 = stablehlo.reduce(%1 init: %one) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return %2 : tensor<5xf32>
}
