// Operands of products in bf16, sums in f32. What has kernels of bf16 takes it, the rest takes rounded numbers.
// RUN: cupel opt %s --narrow-products | FileCheck %s
// Once is enough.
// RUN: cupel opt %s --narrow-products | cupel opt --narrow-products - | FileCheck %s

// CHECK: module attributes {cupel.narrowed_products = 12 : i64}

// Numbers are rounded where they come from, and once; kernels read through what moves them.
// CHECK-LABEL: func.func @product
func.func @product(%x: tensor<8x4xf32>, %w: tensor<16x4xf32>) -> (tensor<8x16xf32>, tensor<16x8xf32>) {
  // CHECK-DAG: %[[W:.*]] = stablehlo.convert %arg1 : (tensor<16x4xf32>) -> tensor<16x4xbf16>
  // CHECK-DAG: %[[X:.*]] = stablehlo.convert %arg0 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
  // CHECK: %[[T:.*]] = stablehlo.transpose %[[W]], dims = [1, 0] : (tensor<16x4xbf16>) -> tensor<4x16xbf16>
  // CHECK-NOT: transpose
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<16x4xf32>) -> tensor<4x16xf32>
  // CHECK: stablehlo.dot_general %[[X]], %[[T]], contracting_dims = [1] x [0] {cupel.narrowed} : (tensor<8x4xbf16>, tensor<4x16xbf16>) -> tensor<8x16xf32>
  %0 = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  // CHECK: stablehlo.dot_general %[[W]], %[[X]], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] {cupel.narrowed}
  %1 = stablehlo.dot_general %w, %x, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x4xf32>, tensor<8x4xf32>) -> tensor<16x8xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<16x8xf32>
}

// What is bf16 and was widened is not rounded again.
// CHECK-LABEL: func.func @widened
func.func @widened(%x: tensor<4x4xbf16>) -> tensor<4x4xf32> {
  %0 = stablehlo.convert %x : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  // CHECK: stablehlo.dot_general %arg0, %arg0
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @rounded
func.func @rounded(%x: tensor<2x4x4xf32>, %i: tensor<1x4x4x2xf32>, %k: tensor<3x3x2x2xf32>) -> (tensor<2x4x4xf32>, tensor<1x2x2x2xf32>, tensor<4xf32>) {
  // CHECK: %[[N:.*]] = stablehlo.convert %arg0 : (tensor<2x4x4xf32>) -> tensor<2x4x4xbf16>
  // CHECK: %[[R:.*]] = stablehlo.convert %[[N]] : (tensor<2x4x4xbf16>) -> tensor<2x4x4xf32>
  // CHECK: stablehlo.dot_general %[[R]], %[[R]], batching_dims = [0] x [0]
  %0 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  // CHECK: stablehlo.convolution({{.*}}cupel.narrowed{{.*}} : (tensor<1x4x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x2x2x2xf32>
  %1 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x2x2x2xf32>
  %m = stablehlo.reshape %x : (tensor<2x4x4xf32>) -> tensor<8x4xf32>
  %v = stablehlo.slice %m [0:4, 0:1] : (tensor<8x4xf32>) -> tensor<4x1xf32>
  %u = stablehlo.reshape %v : (tensor<4x1xf32>) -> tensor<4xf32>
  %n = stablehlo.slice %m [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.dot {{.*}} {cupel.narrowed} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.dot %n, %u : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<2x4x4xf32>, tensor<1x2x2x2xf32>, tensor<4xf32>
}

// Who asks for more, says how, or has other types keeps what he has.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: convert
// CHECK-NOT: cupel.narrowed
// CHECK: return
func.func @kept(%x: tensor<4x4xf32>, %d: tensor<4x4xf64>, %i: tensor<1x4x4x4xf32>, %k: tensor<1x1x4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf64>, tensor<1x4x4x4xf32>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.dot_general %d, %d, contracting_dims = [1] x [0] : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %3 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<1x4x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf64>, tensor<1x4x4x4xf32>
}

// The greatest of windows is found among rounded numbers, where nobody else reads it.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<1x4x4x2xf32>, %k: tensor<1x1x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: %[[X:.*]] = stablehlo.convert %arg0 : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xbf16>
  // CHECK: %[[W:.*]] = "stablehlo.reduce_window"(%[[X]],
  // CHECK: stablehlo.maximum {{.*}} : tensor<bf16>
  // CHECK: (tensor<1x4x4x2xbf16>, tensor<bf16>) -> tensor<1x2x2x2xbf16>
  // CHECK: %[[R:.*]] = stablehlo.convert %[[W]] : (tensor<1x2x2x2xbf16>) -> tensor<1x2x2x2xf32>
  // CHECK: stablehlo.convolution(%[[R]],
  %0 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x2x2xf32>, tensor<1x1x2x2xf32>) -> tensor<1x2x2x2xf32>
  // CHECK: %[[F:.*]] = "stablehlo.reduce_window"(%arg0,
  // CHECK: return %{{.*}}, %[[F]]
  %2 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  return %1, %2 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

// Images are rounded before they are put together and before parts are taken, where nobody else reads more of them.
// CHECK-LABEL: func.func @parts
func.func @parts(%x: tensor<1x4x4x2xf32>, %k: tensor<1x1x2x4xf32>, %l: tensor<1x1x6x4xf32>, %m: tensor<1x1x3x2xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x2xf32>) {
  // CHECK: %[[A:.*]] = stablehlo.tanh %arg0
  // CHECK: %[[HA:.*]] = stablehlo.convert %[[A]] : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xbf16>
  %a = stablehlo.tanh %x : tensor<1x4x4x2xf32>
  // CHECK: %[[B:.*]] = stablehlo.convolution
  // CHECK: %[[HB:.*]] = stablehlo.convert %[[B]] : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xbf16>
  %b = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<1x1x2x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK-NOT: (tensor<1x4x4x2xf32>, tensor<1x4x4x4xf32>)
  // CHECK: %[[C:.*]] = stablehlo.concatenate %[[HA]], %[[HB]], dim = 3 : (tensor<1x4x4x2xbf16>, tensor<1x4x4x4xbf16>) -> tensor<1x4x4x6xbf16>
  %c = stablehlo.concatenate %a, %b, dim = 3 : (tensor<1x4x4x2xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x6xf32>
  // CHECK: %[[CF:.*]] = stablehlo.convert %[[C]]
  // CHECK: stablehlo.convolution(%[[CF]],
  %d = stablehlo.convolution(%c, %l) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x6xf32>, tensor<1x1x6x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: stablehlo.slice %[[C]] [0:1, 0:4, 0:4, 1:4] : (tensor<1x4x4x6xbf16>) -> tensor<1x4x4x3xbf16>
  %s = stablehlo.slice %c [0:1, 0:4, 0:4, 1:4] : (tensor<1x4x4x6xf32>) -> tensor<1x4x4x3xf32>
  %e = stablehlo.convolution(%s, %m) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x4x4x2xf32>
  return %d, %e : tensor<1x4x4x4xf32>, tensor<1x4x4x2xf32>
}

// Not so where somebody reads it as it is, and not for products of matrices.
// CHECK-LABEL: func.func @needed_whole
func.func @needed_whole(%x: tensor<1x4x4x2xf32>, %k: tensor<1x1x4x4xf32>, %w: tensor<2x2xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<2x2xf32>) {
  %a = stablehlo.tanh %x : tensor<1x4x4x2xf32>
  // CHECK: %[[C:.*]] = stablehlo.concatenate {{.*}} -> tensor<1x4x4x4xf32>
  // CHECK: stablehlo.convert %[[C]] : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xbf16>
  %c = stablehlo.concatenate %a, %a, dim = 3 : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x4xf32>
  %d = stablehlo.convolution(%c, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: stablehlo.abs %[[C]]
  %e = stablehlo.abs %c : tensor<1x4x4x4xf32>
  // CHECK: %[[S:.*]] = stablehlo.slice {{.*}} -> tensor<2x2xf32>
  // CHECK: stablehlo.convert %[[S]]
  %t = stablehlo.tanh %e : tensor<1x4x4x4xf32>
  %r = stablehlo.reshape %t : (tensor<1x4x4x4xf32>) -> tensor<32x2xf32>
  %s = stablehlo.slice %r [0:2, 0:2] : (tensor<32x2xf32>) -> tensor<2x2xf32>
  %p = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %d, %e, %p : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<2x2xf32>
}
