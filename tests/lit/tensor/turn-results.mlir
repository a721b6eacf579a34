// A convolution writes channels first what is only brought there, for all images and lines; not what is read as it lies too, and no product.
// RUN: cupel opt %s --form-convolutions --form-maps --turn-results --split-input-file | FileCheck %s
// RUN: cupel opt %s --form-convolutions --form-maps --turn-results --expand-tensor-ir --split-input-file | FileCheck %s --check-prefix=EXPANDED

// CHECK-LABEL: func.func @image
// CHECK: %[[C:.*]] = tir.convolution({{.*}} groups 1 turned reading {{.*}} -> tensor<2x4x6x5xf32>
// CHECK-NOT: tir.map
// CHECK: return %[[C]]
// EXPANDED-LABEL: func.func @image
// EXPANDED: %[[C:.*]] = stablehlo.convolution{{.*}} -> tensor<2x6x5x4xf32>
// EXPANDED: stablehlo.transpose {{.*}}, dims = [0, 3, 1, 2]
func.func @image(%x: tensor<2x8x7x3xf32>, %k: tensor<3x3x3x4xf32>) -> tensor<2x4x6x5xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x7x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x4x6x5xf32>
  return %0 : tensor<2x4x6x5xf32>
}

// -----

// CHECK-LABEL: func.func @line
// CHECK: %[[C:.*]] = tir.convolution({{.*}} turned reading {{.*}} -> tensor<2x4x1x6xf32>
// CHECK: %[[R:.*]] = stablehlo.reshape %[[C]] : (tensor<2x4x1x6xf32>) -> tensor<2x4x6xf32>
// CHECK: return %[[R]]
func.func @line(%x: tensor<2x8x3xf32>, %k: tensor<3x3x4xf32>) -> tensor<2x4x6xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x3xf32>, tensor<3x3x4xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// -----

// CHECK-LABEL: func.func @both
// CHECK: tir.convolution
// CHECK-NOT: turned
// CHECK: tir.map
func.func @both(%x: tensor<2x8x7x3xf32>, %k: tensor<3x3x3x4xf32>) -> (tensor<2x4x6x5xf32>, tensor<2x6x5x4xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x7x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x6x5x4xf32>
  %1 = stablehlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<2x6x5x4xf32>) -> tensor<2x4x6x5xf32>
  return %1, %0 : tensor<2x4x6x5xf32>, tensor<2x6x5x4xf32>
}

// -----

// CHECK-LABEL: func.func @otherwise
// CHECK: tir.convolution
// CHECK-NOT: turned
// CHECK: tir.map
func.func @otherwise(%x: tensor<2x8x7x3xf32>, %k: tensor<3x3x3x4xf32>) -> tensor<2x4x5x6xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x7x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x6x5x4xf32>
  %1 = stablehlo.transpose %0, dims = [0, 3, 2, 1] : (tensor<2x6x5x4xf32>) -> tensor<2x4x5x6xf32>
  return %1 : tensor<2x4x5x6xf32>
}

// -----

// CHECK-LABEL: func.func @product
// CHECK: tir.convolution
// CHECK-NOT: turned
// CHECK: tir.map
func.func @product(%x: tensor<2x8x7x3xf32>, %k: tensor<1x1x3x4xf32>) -> tensor<2x4x8x7xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x7x3xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x8x7xf32>
  return %0 : tensor<2x4x8x7xf32>
}
