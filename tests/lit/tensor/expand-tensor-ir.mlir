// Tensor IR as StableHLO, which evaluates to what it should.
// RUN: cupel opt %s --expand-tensor-ir | FileCheck %s

// CHECK-NOT: tir.
// CHECK: "stablehlo.gather"
// CHECK: stablehlo.select
// CHECK: stablehlo.negate %{{.*}} : tensor<8xf32>
// CHECK: stablehlo.dot_general
// CHECK-NOT: tir.
func.func @main(%a: tensor<5xf32>, %x: tensor<4x6xf32>, %w: tensor<6x3xf32>) -> (tensor<8xf32>, tensor<4x3xf32>) {
  %0 = tir.map(%a) over [8] reading [#tir.view<-2, [1], valid [2, 7], 5.000000e-01 : f32>] : (tensor<5xf32>) -> tensor<8xf32> {
  ^bb0(%e: tensor<f32>):
    %n = stablehlo.negate %e : tensor<f32>
    tir.yield %n : tensor<f32>
  }
  %3 = tir.product(%x, %w) batch [] rows 4 columns 3 depth 6 reading [#tir.view<0, [6, 1]>, #tir.view<0, [3, 1]>] : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32> {
  ^bb0(%e: tensor<f32>):
    tir.yield %e : tensor<f32>
  }
  return %0, %3 : tensor<8xf32>, tensor<4x3xf32>
}

// Both sides of a convolution that rounds are rounded.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[IN:.*]] = stablehlo.convert %{{.*}} : (tensor<1x3x3x2xf32>) -> tensor<1x3x3x2xbf16>
// CHECK: %[[I:.*]] = stablehlo.convert %[[IN]]
// CHECK: %[[KN:.*]] = stablehlo.convert %{{.*}} : (tensor<2x2x2x4xf32>) -> tensor<2x2x2x4xbf16>
// CHECK: %[[K:.*]] = stablehlo.convert %[[KN]]
// CHECK: stablehlo.convolution(%[[I]], %[[K]])
func.func @rounded(%x: tensor<1x3x3x2xf32>, %w: tensor<2x2x2x4xf32>) -> tensor<1x2x2x4xf32> {
  %0 = tir.convolution(%x, %w) window [2, 2] strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 rounded reading [#tir.view<0, [16, 8, 4, 1]>] : (tensor<1x3x3x2xf32>, tensor<2x2x2x4xf32>) -> tensor<1x2x2x4xf32> {
  ^bb0(%e: tensor<f32>):
    tir.yield %e : tensor<f32>
  }
  return %0 : tensor<1x2x2x4xf32>
}

// What is bf16 already is widened.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[I:.*]] = stablehlo.convert %arg0 : (tensor<1x3x3x2xbf16>) -> tensor<1x3x3x2xf32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<2x2x2x4xf32>) -> tensor<2x2x2x4xbf16>
// CHECK: stablehlo.convolution(%[[I]], {{.*}} -> tensor<1x2x2x4xf32>
// CHECK: stablehlo.convert {{.*}} -> tensor<4x4xbf16>
func.func @narrow(%x: tensor<1x3x3x2xbf16>, %w: tensor<2x2x2x4xf32>) -> tensor<1x2x2x4xbf16> {
  %0 = tir.convolution(%x, %w) window [2, 2] strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 rounded reading [#tir.view<0, [16, 8, 4, 1]>] : (tensor<1x3x3x2xbf16>, tensor<2x2x2x4xf32>) -> tensor<1x2x2x4xbf16> {
  ^bb0(%e: tensor<f32>):
    %n = stablehlo.convert %e : (tensor<f32>) -> tensor<bf16>
    tir.yield %n : tensor<bf16>
  }
  return %0 : tensor<1x2x2x4xbf16>
}

// Of volumes, and without any filter.
// CHECK-LABEL: func.func @volume
// CHECK: stablehlo.convolution({{.*}}) dim_numbers = [b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]
// CHECK: stablehlo.reshape {{.*}} : (tensor<1x2x2x3x4xf32>) -> tensor<12x4xf32>
func.func @volume(%x: tensor<1x3x3x3x2xf32>, %w: tensor<2x2x1x2x4xf32>) -> tensor<1x2x2x3x4xf32> {
  %0 = tir.convolution(%x, %w) window [2, 2, 1] strides [1, 1, 1] padding [0, 0, 0, 0, 0, 0] dilations [1, 1, 1] groups 1 reading [#tir.view<0, [16, 8, 8, 4, 1]>] : (tensor<1x3x3x3x2xf32>, tensor<2x2x1x2x4xf32>) -> tensor<1x2x2x3x4xf32> {
  ^bb0(%e: tensor<f32>):
    tir.yield %e : tensor<f32>
  }
  return %0 : tensor<1x2x2x3x4xf32>
}

// CHECK-LABEL: func.func @empty
// CHECK: stablehlo.reshape {{.*}} : (tensor<1x2x2x0xf32>) -> tensor<4x0xf32>
func.func @empty(%x: tensor<1x3x3x2xf32>, %w: tensor<2x2x2x0xf32>) -> tensor<1x2x2x0xf32> {
  %0 = tir.convolution(%x, %w) window [2, 2] strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 reading [#tir.view<0, [0, 0, 0, 1]>] : (tensor<1x3x3x2xf32>, tensor<2x2x2x0xf32>) -> tensor<1x2x2x0xf32> {
  ^bb0(%e: tensor<f32>):
    tir.yield %e : tensor<f32>
  }
  return %0 : tensor<1x2x2x0xf32>
}
