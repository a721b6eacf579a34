// A residual in bf16 that a convolution's epilogue adds element by element, and that nobody reads afterwards, is written over.
// RUN: cupel compile %s --emit=device -o - | FileCheck %s

// CHECK-LABEL: dev.program @main
// CHECK: %[[P:.*]] = dev.place [[AT:[0-9]+]] : !dev.buffer<tensor<1x8x8x32xbf16>>
// CHECK: dev.launch({{.*}}) to(%[[P]])
// CHECK: %[[Q:.*]] = dev.place {{.*}} : !dev.buffer<tensor<1x8x8x16xbf16>>
// CHECK: dev.launch(%[[P]], {{.*}}) to(%[[Q]])
// CHECK: %[[S:.*]] = dev.place [[AT]] : !dev.buffer<tensor<1x8x8x32xbf16>>
// CHECK: dev.launch(%[[Q]], {{.*}}, %[[P]]) to(%[[S]])
// CHECK: tir.convolution({{.*}}) with(%arg2)
// What is the image as well is read around the element that is written.
// CHECK-NOT: dev.place [[AT]] :
// CHECK: tir.convolution(%arg0, %arg1) with(%arg0)
func.func @main(%x: tensor<1x8x8x32xbf16>, %k: tensor<3x3x32x32xbf16>, %n: tensor<1x1x32x16xbf16>, %w: tensor<1x1x16x32xbf16>) -> tensor<1x8x8x16xbf16> {
  %p = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x32xbf16>, tensor<3x3x32x32xbf16>) -> tensor<1x8x8x32xbf16>
  %q = stablehlo.convolution(%p, %n) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x32xbf16>, tensor<1x1x32x16xbf16>) -> tensor<1x8x8x16xbf16>
  %r = stablehlo.convolution(%q, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x16xbf16>, tensor<1x1x16x32xbf16>) -> tensor<1x8x8x32xf32>
  %sw = stablehlo.convert %p : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
  %ss = stablehlo.add %r, %sw : tensor<1x8x8x32xf32>
  %s = stablehlo.convert %ss : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
  %t = stablehlo.convolution(%s, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x32xbf16>, tensor<3x3x32x32xbf16>) -> tensor<1x8x8x32xf32>
  %uw = stablehlo.convert %s : (tensor<1x8x8x32xbf16>) -> tensor<1x8x8x32xf32>
  %us = stablehlo.add %t, %uw : tensor<1x8x8x32xf32>
  %u = stablehlo.convert %us : (tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xbf16>
  %v = stablehlo.convolution(%u, %n) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x32xbf16>, tensor<1x1x32x16xbf16>) -> tensor<1x8x8x16xbf16>
  return %v : tensor<1x8x8x16xbf16>
}
