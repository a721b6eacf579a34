// Transposes between convolutions meet and vanish.
// RUN: cupel opt %s --form-convolutions --sink-transposes | FileCheck %s

// CHECK: %[[A:.*]] = tir.convolution
// CHECK-NOT: stablehlo.transpose
// CHECK: stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<4xf32>) -> tensor<1x6x6x4xf32>
// CHECK: stablehlo.add {{.*}} : tensor<1x6x6x4xf32>
// CHECK: stablehlo.maximum {{.*}} : tensor<1x6x6x4xf32>
// CHECK-NOT: stablehlo.transpose
// CHECK: tir.convolution
// A reduction over the image needs no transpose either.
// CHECK: stablehlo.reduce({{.*}} across dimensions = [1, 2] : (tensor<1x6x6x4xf32>, tensor<f32>) -> tensor<1x4xf32>
// CHECK-NOT: stablehlo.transpose
func.func @main(%x: tensor<1x4x6x6xf32>, %w: tensor<4x4x1x1xf32>, %b: tensor<4xf32>) -> tensor<1x4xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<1x4x6x6xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<1x4x6x6xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x4x6x6xf32>
  %3 = stablehlo.maximum %2, %zeros : tensor<1x4x6x6xf32>
  %4 = stablehlo.convolution(%3, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2, 3] : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4xf32>
  return %5 : tensor<1x4xf32>
}
