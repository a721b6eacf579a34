// Transposes between convolutions meet and vanish.
// RUN: cupel opt %s --form-convolutions --sink-transposes --split-input-file | FileCheck %s

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

// -----
// Through what joins, splits and shuffles channels, and through upsampling by nearest neighbours: all of it with channels inmost.

// CHECK-LABEL: func.func @moves
// CHECK: tir.convolution
// CHECK-NOT: tir.layout
// CHECK: stablehlo.reshape {{.*}} : (tensor<1x6x6x4xf32>) -> tensor<1x6x6x2x2xf32>
// CHECK: stablehlo.transpose {{.*}}, dims = [0, 1, 2, 4, 3]
// CHECK: stablehlo.reshape {{.*}} : (tensor<1x6x6x2x2xf32>) -> tensor<1x6x6x4xf32>
// CHECK: stablehlo.slice {{.*}} [0:1, 0:6, 0:6, 1:3]
// CHECK: stablehlo.concatenate {{.*}} dim = 3 : (tensor<1x6x6x4xf32>, tensor<1x6x6x2xf32>) -> tensor<1x6x6x6xf32>
// CHECK: stablehlo.broadcast_in_dim {{.*}}, dims = [0, 1, 3, 5] : (tensor<1x6x6x6xf32>) -> tensor<1x6x2x6x2x6xf32>
// CHECK: stablehlo.reshape {{.*}} -> tensor<1x12x12x6xf32>
// CHECK-NOT: stablehlo.transpose
// CHECK: tir.convolution
func.func @moves(%x: tensor<1x6x6x4xf32>, %w: tensor<4x4x1x1xf32>, %v: tensor<8x6x1x1xf32>) -> tensor<1x12x12x8xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x4x6x6xf32>) -> tensor<1x2x2x6x6xf32>
  %2 = stablehlo.transpose %1, dims = [0, 2, 1, 3, 4] : (tensor<1x2x2x6x6xf32>) -> tensor<1x2x2x6x6xf32>
  %3 = stablehlo.reshape %2 : (tensor<1x2x2x6x6xf32>) -> tensor<1x4x6x6xf32>
  %4 = stablehlo.slice %3 [0:1, 1:3, 0:6, 0:6] : (tensor<1x4x6x6xf32>) -> tensor<1x2x6x6xf32>
  %5 = stablehlo.concatenate %3, %4, dim = 1 : (tensor<1x4x6x6xf32>, tensor<1x2x6x6xf32>) -> tensor<1x6x6x6xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 4] : (tensor<1x6x6x6xf32>) -> tensor<1x6x6x2x6x2xf32>
  %7 = stablehlo.reshape %6 : (tensor<1x6x6x2x6x2xf32>) -> tensor<1x6x12x12xf32>
  %8 = stablehlo.convolution(%7, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x12x12xf32>, tensor<8x6x1x1xf32>) -> tensor<1x12x12x8xf32>
  return %8 : tensor<1x12x12x8xf32>
}

// -----
// What has to stay: groups of channels that are joined with lines are no neighbours with channels inmost.

// CHECK-LABEL: func.func @groups
// CHECK: stablehlo.transpose {{.*}}, dims = [0, 3, 1, 2]
// CHECK: stablehlo.reshape {{.*}} : (tensor<1x4x6x6xf32>) -> tensor<1x2x72xf32>
func.func @groups(%x: tensor<1x6x6x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x2x72xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x4x6x6xf32>) -> tensor<1x2x72xf32>
  return %1 : tensor<1x2x72xf32>
}

// -----
// Nor are groups of channels split that are reduced: with channels inmost they would lie a few elements at a time.

// CHECK-LABEL: func.func @normalised
// CHECK: stablehlo.transpose {{.*}}, dims = [0, 3, 1, 2]
// CHECK: stablehlo.reshape {{.*}} : (tensor<1x4x6x6xf32>) -> tensor<1x2x2x6x6xf32>
func.func @normalised(%x: tensor<1x6x6x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x4x6x6xf32>) -> tensor<1x2x2x6x6xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2, 3, 4] : (tensor<1x2x2x6x6xf32>, tensor<f32>) -> tensor<1x2xf32>
  return %2 : tensor<1x2xf32>
}

// -----
// What is left of a transpose goes behind a reduction that keeps dimensions in another order than they lie in.

// CHECK-LABEL: func.func @columns
// CHECK: %[[R:.*]] = stablehlo.reduce({{.*}} across dimensions = [2] : (tensor<1x6x5x4xf32>, tensor<f32>) -> tensor<1x6x4xf32>
// CHECK: %[[N:.*]] = stablehlo.negate %[[R]] : tensor<1x6x4xf32>
// CHECK: stablehlo.transpose %[[N]], dims = [0, 2, 1] {{.*}}-> tensor<1x4x6xf32>
func.func @columns(%x: tensor<1x6x5x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x6xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x5x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x5xf32>
  %1 = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<1x4x6x5xf32>, tensor<f32>) -> tensor<1x4x6xf32>
  %2 = stablehlo.negate %1 : tensor<1x4x6xf32>
  return %2 : tensor<1x4x6xf32>
}

// -----
// Pads, reversals and places along one dimension are made where channels lie inmost.

// CHECK-LABEL: func.func @around
// CHECK: stablehlo.pad {{.*}}, low = [0, 1, 0, 0], high = [0, 0, 2, 0], interior = [0, 0, 0, 0] : (tensor<1x6x5x4xf32>, tensor<f32>) -> tensor<1x7x7x4xf32>
// CHECK: stablehlo.reverse {{.*}}, dims = [2, 3]
// CHECK: "stablehlo.gather"{{.*}}offset_dims = [0, 1, 3], collapsed_slice_dims = [2], start_index_map = [2]{{.*}}slice_sizes = array<i64: 1, 7, 1, 4>{{.*}} -> tensor<1x7x9x4xf32>
// CHECK: stablehlo.transpose {{.*}}, dims = [0, 3, 1, 2] {{.*}}-> tensor<1x4x7x9xf32>
func.func @around(%x: tensor<1x6x5x4xf32>, %w: tensor<4x4x1x1xf32>, %places: tensor<9xi64>) -> tensor<1x4x7x9xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x5x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x5xf32>
  %1 = stablehlo.pad %0, %one, low = [0, 0, 1, 0], high = [0, 0, 0, 2], interior = [0, 0, 0, 0] : (tensor<1x4x6x5xf32>, tensor<f32>) -> tensor<1x4x7x7xf32>
  %2 = stablehlo.reverse %1, dims = [1, 3] : tensor<1x4x7x7xf32>
  %3 = "stablehlo.gather"(%2, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 2], collapsed_slice_dims = [3], start_index_map = [3], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4, 7, 1>}> : (tensor<1x4x7x7xf32>, tensor<9xi64>) -> tensor<1x4x7x9xf32>
  return %3 : tensor<1x4x7x9xf32>
}
