// Groups whose results are summed are channels of one convolution.
// RUN: cupel opt %s --join-summed-groups | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = stablehlo.reshape %arg1 : (tensor<6x1x2x2xf32>) -> tensor<3x2x1x2x2xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[P]], dims = [1, 0, 2, 3, 4]
// CHECK: %[[K:.*]] = stablehlo.reshape %[[T]] : (tensor<2x3x1x2x2xf32>) -> tensor<2x3x2x2xf32>
// CHECK: %[[C:.*]] = stablehlo.convolution(%arg0, %[[K]]) {{.*}}feature_group_count = 1 {{.*}} -> tensor<4x2x4x4xf32>
// CHECK: %[[S:.*]] = stablehlo.slice %[[C]] [0:4, 0:2, 0:3, 0:4]
// CHECK: %[[R:.*]] = stablehlo.transpose %[[S]], dims = [1, 0, 2, 3]
// CHECK: return %[[R]] : tensor<2x4x3x4xf32>
func.func @main(%x: tensor<4x3x5x5xf32>, %g: tensor<6x1x2x2xf32>) -> tensor<2x4x3x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<4x3x5x5xf32>, tensor<6x1x2x2xf32>) -> tensor<4x6x4x4xf32>
  %1 = stablehlo.slice %0 [0:4, 0:6, 0:3, 0:4] : (tensor<4x6x4x4xf32>) -> tensor<4x6x3x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<4x6x3x4xf32>) -> tensor<4x3x2x3x4xf32>
  %3 = stablehlo.transpose %2, dims = [1, 2, 0, 3, 4] : (tensor<4x3x2x3x4xf32>) -> tensor<3x2x4x3x4xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x2x4x3x4xf32>, tensor<f32>) -> tensor<2x4x3x4xf32>
  return %4 : tensor<2x4x3x4xf32>
}

// What else is needed of the groups keeps them apart.
// CHECK-LABEL: func.func @both
// CHECK: feature_group_count = 3
func.func @both(%x: tensor<4x3x5x5xf32>, %g: tensor<6x1x2x2xf32>) -> (tensor<4x2x4x4xf32>, tensor<4x6x4x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<4x3x5x5xf32>, tensor<6x1x2x2xf32>) -> tensor<4x6x4x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x6x4x4xf32>) -> tensor<4x3x2x4x4xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x3x2x4x4xf32>, tensor<f32>) -> tensor<4x2x4x4xf32>
  return %2, %0 : tensor<4x2x4x4xf32>, tensor<4x6x4x4xf32>
}

// A sum over the filters of a group is none over groups.
// CHECK-LABEL: func.func @filters
// CHECK: feature_group_count = 3
func.func @filters(%x: tensor<4x3x5x5xf32>, %g: tensor<6x1x2x2xf32>) -> tensor<4x3x4x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<4x3x5x5xf32>, tensor<6x1x2x2xf32>) -> tensor<4x6x4x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x6x4x4xf32>) -> tensor<4x3x2x4x4xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x3x2x4x4xf32>, tensor<f32>) -> tensor<4x3x4x4xf32>
  return %2 : tensor<4x3x4x4xf32>
}
