// Softmax, found by its shape: one operation on rows. What is made of a column is none of it.
// RUN: cupel opt %s --form-rows | FileCheck %s

// CHECK: %[[R:.*]] = tir.row(%arg0, %arg1) over [8] rows of 5 reading [#tir.view<0, [5, 1]>, #tir.view<0, [1]>]
// CHECK: ^bb0(%{{.*}}: tensor<5xf32>, %{{.*}}: tensor<f32>):
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
// CHECK: stablehlo.exponential %{{.*}} : tensor<5xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: stablehlo.divide %{{.*}} : tensor<5xf32>
// CHECK: stablehlo.reduce(%[[R]]
func.func @main(%x: tensor<2x4x5xf32>, %m: tensor<2x4xf32>) -> (tensor<2x4x5xf32>, tensor<5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %5 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x5xf32>, tensor<f32>) -> tensor<2x4xf32>
  %6 = stablehlo.reshape %5 : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<2x4x1xf32>) -> tensor<2x4x5xf32>
  %8 = stablehlo.subtract %x, %7 : tensor<2x4x5xf32>
  %9 = stablehlo.exponential %8 : tensor<2x4x5xf32>
  %10 = stablehlo.reduce(%9 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x5xf32>, tensor<f32>) -> tensor<2x4xf32>
  %11 = stablehlo.add %10, %m : tensor<2x4xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x5xf32>
  %13 = stablehlo.divide %9, %12 : tensor<2x4x5xf32>
  %15 = stablehlo.reduce(%13 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return %13, %15 : tensor<2x4x5xf32>, tensor<5xf32>
}
