// Operations of tensor IR read what they print, and are refused where they cannot be.
// RUN: cupel opt %s --split-input-file | cupel opt - --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<4x6xf32>, %b: tensor<6xf32>, %w: tensor<6x3xf32>, %i: tensor<1x5x5x2xf32>, %k: tensor<3x3x2x4xf32>) -> tensor<4x6xf32> {
  // CHECK: tir.map(%arg0, %arg1) over [4, 6] reading [#tir.view<0, [6, 1]>, #tir.view<5, [0, -1]>]
  %0 = tir.map(%a, %b) over [4, 6] reading [#tir.view<0, [6, 1]>, #tir.view<5, [0, -1]>] : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32> {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    tir.yield %s : tensor<f32>
  }
  // CHECK: tir.map(%arg1) over [9] reading [#tir.view<-1, [1], valid [1, 7], 2.000000e+00 : f32>]
  %p = tir.map(%b) over [9] reading [#tir.view<-1, [1], valid [1, 7], 2.0 : f32>] : (tensor<6xf32>) -> tensor<9xf32> {
  ^bb0(%x: tensor<f32>):
    tir.yield %x : tensor<f32>
  }
  // CHECK: tir.row(%{{.*}}) over [4] rows of 6 reading [#tir.view<0, [6, 1]>]
  %1:2 = tir.row(%0) over [4] rows of 6 reading [#tir.view<0, [6, 1]>] : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  ^bb0(%x: tensor<6xf32>):
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %r = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %d = stablehlo.divide %x, %r : tensor<6xf32>
    tir.yield %d, %s : tensor<6xf32>, tensor<f32>
  }
  // CHECK: tir.reduce "maximum"(%{{.*}}) from 0.000000e+00 : f32 over [4, 6] reducing [0]
  %2 = tir.reduce "maximum"(%0) from 0.0 : f32 over [4, 6] reducing [0] reading [#tir.view<0, [6, 1]>] : (tensor<4x6xf32>) -> tensor<6xf32> {
  ^bb0(%x: tensor<f32>):
    tir.yield %x : tensor<f32>
  }
  // CHECK: tir.product(%arg0, %arg2) batch [] rows 4 columns 3 depth 6
  %3 = tir.product(%a, %w) batch [] rows 4 columns 3 depth 6 reading [#tir.view<0, [6, 1]>, #tir.view<0, [3, 1]>] : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32> {
  ^bb0(%x: tensor<f32>):
    tir.yield %x : tensor<f32>
  }
  // CHECK: tir.convolution(%arg3, %arg4) window [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1
  %4 = tir.convolution(%i, %k) window [3, 3] strides [1, 1] padding [1, 1, 1, 1] dilations [1, 1] groups 1 reading [#tir.view<0, [24, 8, 4, 1]>] : (tensor<1x5x5x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x5x5x4xf32> {
  ^bb0(%x: tensor<f32>):
    tir.yield %x : tensor<f32>
  }
  // CHECK: tir.correlation(%arg3, %arg3) strides [1, 2] padding [0, 0, 1, 1] dilations [1, 1]
  %c = tir.correlation(%i, %i) strides [1, 2] padding [0, 0, 1, 1] dilations [1, 1] : (tensor<1x5x5x2xf32>, tensor<1x5x5x2xf32>) -> tensor<1x2x2x2xf32>
  // CHECK: tir.pool "maximum"(%arg3) window [2, 2] strides [2, 2] padding [0, 1, 0, 1]
  %5 = tir.pool "maximum"(%i) window [2, 2] strides [2, 2] padding [0, 1, 0, 1] : (tensor<1x5x5x2xf32>) -> tensor<1x3x3x2xf32>
  // CHECK: tir.while @test do @step(%arg1, %arg0) carrying 1
  %6 = tir.while @test do @step(%b, %a) carrying 1 : (tensor<6xf32>, tensor<4x6xf32>) -> tensor<6xf32>
  return %1#0 : tensor<4x6xf32>
}
func.func private @test(%b: tensor<6xf32>, %a: tensor<4x6xf32>) -> tensor<i1>
func.func private @step(%b: tensor<6xf32>, %a: tensor<4x6xf32>) -> (tensor<6xf32>, tensor<i1>)
