// Products and convolutions of 8-bit integers read them as they lie, with their zero points, and write what is made of their sums.
// RUN: cupel opt %s --read-integers --form-convolutions --sink-transposes --form-products --fuse-epilogues --split-input-file | FileCheck %s

// CHECK: tir.product(%arg0, %arg1) with(%arg2) batch [] rows 2 columns 3 depth 4 zeros [128, 0]
// CHECK-SAME: (tensor<2x4xui8>, tensor<4x3xi8>, tensor<3xf32>) -> tensor<2x3xi8>
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i32>, %{{.*}}: tensor<f32>):
// CHECK: stablehlo.round_nearest_even
// CHECK: tir.yield %{{.*}} : tensor<i8>
func.func @main(%a: tensor<2x4xui8>, %b: tensor<4x3xi8>, %scale: tensor<3xf32>) -> tensor<2x3xi8> {
  %point = stablehlo.constant dense<128> : tensor<2x4xi32>
  %0 = stablehlo.convert %a : (tensor<2x4xui8>) -> tensor<2x4xi32>
  %1 = stablehlo.subtract %0, %point : tensor<2x4xi32>
  %2 = stablehlo.convert %b : (tensor<4x3xi8>) -> tensor<4x3xi32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] : (tensor<2x4xi32>, tensor<4x3xi32>) -> tensor<2x3xi32>
  %4 = stablehlo.convert %3 : (tensor<2x3xi32>) -> tensor<2x3xf32>
  %5 = stablehlo.broadcast_in_dim %scale, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %6 = stablehlo.multiply %4, %5 : tensor<2x3xf32>
  %7 = stablehlo.round_nearest_even %6 : tensor<2x3xf32>
  %8 = stablehlo.convert %7 : (tensor<2x3xf32>) -> tensor<2x3xi8>
  return %8 : tensor<2x3xi8>
}

// -----

// A transpose behind the zero point is done in front of it.
// CHECK: tir.product(%arg0, %arg1) batch [] rows 2 columns 3 depth 4 zeros [0, 7] reading [#tir.view<0, [4, 1]>, #tir.view<0, [1, 4]>]
func.func @main(%a: tensor<2x4xi8>, %b: tensor<3x4xui8>) -> tensor<2x3xi32> {
  %point = stablehlo.constant dense<7> : tensor<3x4xi32>
  %0 = stablehlo.convert %a : (tensor<2x4xi8>) -> tensor<2x4xi32>
  %1 = stablehlo.convert %b : (tensor<3x4xui8>) -> tensor<3x4xi32>
  %2 = stablehlo.subtract %1, %point : tensor<3x4xi32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<3x4xi32>) -> tensor<4x3xi32>
  %4 = stablehlo.dot_general %0, %3, contracting_dims = [1] x [0] : (tensor<2x4xi32>, tensor<4x3xi32>) -> tensor<2x3xi32>
  return %4 : tensor<2x3xi32>
}

// -----

// CHECK: tir.convolution(%{{.*}}, %arg1) window [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 zeros [5, -1]
// CHECK-SAME: (tensor<1x4x4x2xui8>, tensor<2x2x3x3xi8>) -> tensor<1x4x4x2xi32>
func.func @main(%i: tensor<1x2x4x4xui8>, %k: tensor<2x2x3x3xi8>) -> tensor<1x2x4x4xi32> {
  %five = stablehlo.constant dense<5> : tensor<1x2x4x4xi32>
  %one = stablehlo.constant dense<1> : tensor<2x2x3x3xi32>
  %0 = stablehlo.convert %i : (tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xi32>
  %1 = stablehlo.subtract %0, %five : tensor<1x2x4x4xi32>
  %2 = stablehlo.convert %k : (tensor<2x2x3x3xi8>) -> tensor<2x2x3x3xi32>
  %3 = stablehlo.add %2, %one : tensor<2x2x3x3xi32>
  %4 = stablehlo.convolution(%1, %3) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x4x4xi32>, tensor<2x2x3x3xi32>) -> tensor<1x2x4x4xi32>
  return %4 : tensor<1x2x4x4xi32>
}

// -----

// A zero point that is no number of the side's type stays in front, and what is spread has its own kernels.
// CHECK-NOT: tir.product
// CHECK: stablehlo.dot_general
func.func @main(%a: tensor<2x4xui8>, %b: tensor<4x3xi8>) -> tensor<2x3xi32> {
  %point = stablehlo.constant dense<256> : tensor<2x4xi32>
  %0 = stablehlo.convert %a : (tensor<2x4xui8>) -> tensor<2x4xi32>
  %1 = stablehlo.subtract %0, %point : tensor<2x4xi32>
  %2 = stablehlo.convert %b : (tensor<4x3xi8>) -> tensor<4x3xi32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] : (tensor<2x4xi32>, tensor<4x3xi32>) -> tensor<2x3xi32>
  return %3 : tensor<2x3xi32>
}

// -----

// Weights that were widened before the program runs are 8 bits again; those that were of no sign with the zero point that was taken from them.
// CHECK: %[[W:.*]] = stablehlo.constant dense<{{.*}}> : tensor<2x2xui8>
// CHECK: tir.product(%arg0, %[[W]]) batch [] rows 2 columns 2 depth 2 zeros [0, 200]
func.func @main(%a: tensor<2x2xi8>) -> tensor<2x2xi32> {
  %w = stablehlo.constant dense<[[-200, 55], [0, 7]]> : tensor<2x2xi32>
  %0 = stablehlo.convert %a : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return %1 : tensor<2x2xi32>
}

// -----

// CHECK-NOT: tir.product
func.func @main(%a: tensor<2x2xi8>) -> tensor<2x2xi32> {
  %w = stablehlo.constant dense<[[-200, 56], [0, 7]]> : tensor<2x2xi32>
  %0 = stablehlo.convert %a : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return %1 : tensor<2x2xi32>
}

// -----

// Two products whose results are quantized and added: each scales and rounds its own sums, and bytes lie between them. What a product reads is
// none of its epilogue.
// CHECK: %[[QUANTIZED:.*]] = stablehlo.convert %arg0 {{.*}} -> tensor<2x2xi8>
// CHECK: %[[RIGHT:.*]] = tir.product(%arg1, %arg2) batch [] {{.*}} : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
// CHECK: tir.product(%[[QUANTIZED]], %arg2) with(%[[RIGHT]]) {{.*}} -> tensor<2x2xi32>
func.func @main(%x: tensor<2x2xf32>, %b: tensor<2x2xi8>, %w: tensor<2x2xi8>) -> tensor<2x2xi32> {
  %scale = stablehlo.constant dense<0.5> : tensor<2x2xf32>
  %a = stablehlo.convert %x : (tensor<2x2xf32>) -> tensor<2x2xi8>
  %0 = stablehlo.convert %a : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %1 = stablehlo.convert %b : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %2 = stablehlo.convert %w : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %4 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %5 = stablehlo.convert %3 : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %6 = stablehlo.convert %4 : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %7 = stablehlo.multiply %5, %scale : tensor<2x2xf32>
  %8 = stablehlo.multiply %6, %scale : tensor<2x2xf32>
  %9 = stablehlo.convert %7 : (tensor<2x2xf32>) -> tensor<2x2xi8>
  %10 = stablehlo.convert %8 : (tensor<2x2xf32>) -> tensor<2x2xi8>
  %11 = stablehlo.convert %9 : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %12 = stablehlo.convert %10 : (tensor<2x2xi8>) -> tensor<2x2xi32>
  %13 = stablehlo.add %11, %12 : tensor<2x2xi32>
  return %13 : tensor<2x2xi32>
}
