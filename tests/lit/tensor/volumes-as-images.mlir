// Correlations of volumes are those of images whose channels are slices; pools fold height and width, then the depth. Convolutions stay.
// RUN: cupel opt %s --volumes-as-images | FileCheck %s

// CHECK-LABEL: func.func @convolution
// CHECK-NEXT: stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2]
func.func @convolution(%x: tensor<1x4x7x8x8xf32>, %k: tensor<6x4x3x3x3xf32>) -> tensor<1x6x4x8x8xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {stride = [2, 1, 1], pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x7x8x8xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x6x4x8x8xf32>
  return %0 : tensor<1x6x4x8x8xf32>
}

// The gradient of a kernel.
// CHECK-LABEL: func.func @correlation
// CHECK: %[[P:.*]] = stablehlo.pad {{.*}}, low = [0, 1, 0, 0, 0], high = [0, 1, 0, 0, 0]
// CHECK: stablehlo.slice %[[P]] [0:4, 0:3, 0:8, 0:8, 0:2]
// CHECK: stablehlo.slice %[[P]] [0:4, 6:9, 0:8, 0:8, 0:2]
// CHECK: stablehlo.concatenate {{.*}}, dim = 4 : {{.*}} -> tensor<4x3x8x8x14xf32>
// CHECK: stablehlo.reshape {{.*}} -> tensor<12x8x8x14xf32>
// CHECK: stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = {{\[\[}}1, 1], [1, 1]]}
// CHECK: stablehlo.transpose {{.*}} {tir.layout}
func.func @correlation(%x: tensor<2x4x7x8x8xf32>, %y: tensor<2x6x7x8x8xf32>) -> tensor<6x4x3x3x3xf32> {
  %g = stablehlo.negate %y : tensor<2x6x7x8x8xf32>
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, b, 0, 1, 2]x[i, o, 0, 1, 2]->[f, b, 0, 1, 2], window = {pad = [[1, 1], [1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x7x8x8xf32>, tensor<2x6x7x8x8xf32>) -> tensor<6x4x3x3x3xf32>
  return %0 : tensor<6x4x3x3x3xf32>
}

// Alone, slices are images with columns inmost, and nothing is transposed.
// CHECK-LABEL: func.func @pool
// CHECK-NOT: stablehlo.transpose
// CHECK: stablehlo.reshape {{.*}} -> tensor<1x24x8x8xf32>
// CHECK: "stablehlo.reduce_window"{{.*}}window_dimensions = array<i64: 1, 1, 2, 2>
// CHECK: stablehlo.reshape {{.*}} -> tensor<1x4x6x16xf32>
// CHECK: "stablehlo.reduce_window"{{.*}}window_dimensions = array<i64: 1, 1, 3, 1>
// CHECK: stablehlo.reshape {{.*}} -> tensor<1x4x2x4x4xf32>
func.func @pool(%x: tensor<1x4x6x8x8xf32>) -> tensor<1x4x2x4x4xf32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 1, 1, 3, 2, 2>, window_strides = array<i64: 1, 1, 3, 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<1x4x6x8x8xf32>, tensor<f32>) -> tensor<1x4x2x4x4xf32>
  return %0 : tensor<1x4x2x4x4xf32>
}

// Near a convolution channels are brought inmost.
// CHECK-LABEL: func.func @pool_near
// CHECK: stablehlo.reshape {{.*}} -> tensor<6x8x8x4xf32>
// CHECK: "stablehlo.reduce_window"{{.*}}window_dimensions = array<i64: 1, 2, 2, 1>
// CHECK: stablehlo.reshape {{.*}} -> tensor<1x6x16x4xf32>
// CHECK: "stablehlo.reduce_window"{{.*}}window_dimensions = array<i64: 1, 3, 1, 1>
func.func @pool_near(%x: tensor<1x4x6x8x8xf32>, %k: tensor<4x4x1x1x1xf32>) -> tensor<1x4x2x4x4xf32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 1, 1, 3, 2, 2>, window_strides = array<i64: 1, 1, 3, 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<1x4x6x8x8xf32>, tensor<f32>) -> tensor<1x4x2x4x4xf32>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, f, 0, 1, 2]x[o, i, 0, 1, 2]->[b, f, 0, 1, 2], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x2x4x4xf32>, tensor<4x4x1x1x1xf32>) -> tensor<1x4x2x4x4xf32>
  return %1 : tensor<1x4x2x4x4xf32>
}

// Nothing is folded over the depth where windows have one element of it.
// CHECK-LABEL: func.func @flat_pool
// CHECK: "stablehlo.reduce_window"{{.*}}window_dimensions = array<i64: 1, 1, 2, 2>
// CHECK-NOT: "stablehlo.reduce_window"
func.func @flat_pool(%x: tensor<1x4x6x8x8xf32>) -> tensor<1x4x6x4x4xf32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 1, 1, 1, 2, 2>, window_strides = array<i64: 1, 1, 1, 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<1x4x6x8x8xf32>, tensor<f32>) -> tensor<1x4x6x4x4xf32>
  return %0 : tensor<1x4x6x4x4xf32>
}

// A fold that begins with a number that changes it stays.
// CHECK-LABEL: func.func @from_one
// CHECK: window_dimensions = array<i64: 1, 1, 3, 2, 2>
func.func @from_one(%x: tensor<1x4x6x8x8xf32>) -> tensor<1x4x2x4x4xf32> {
  %i = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 1, 1, 3, 2, 2>, window_strides = array<i64: 1, 1, 3, 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<1x4x6x8x8xf32>, tensor<f32>) -> tensor<1x4x2x4x4xf32>
  return %0 : tensor<1x4x2x4x4xf32>
}
