// Elementwise operations become maps that read through moves.
// RUN: cupel opt %s --form-maps --split-input-file | FileCheck %s

// CHECK: tir.map(%arg0, %arg1, %arg2) over [4, 6] reading [#tir.view<0, [6, 1]>, #tir.view<0, [0, 1]>, #tir.view<0, [1, 4]>]
// CHECK: stablehlo.add
// CHECK: stablehlo.multiply
// CHECK: stablehlo.tanh
// CHECK: tir.yield %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
// What only moves elements is a map as well.
// CHECK: tir.map(%{{.*}}#0) over [2, 12] reading [#tir.view<11, [12, -1]>]
// CHECK-NOT: stablehlo.transpose
func.func @main(%a: tensor<4x6xf32>, %b: tensor<6xf32>, %w: tensor<6x4xf32>) -> (tensor<24xf32>, tensor<2x12xf32>) {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.add %a, %0 : tensor<4x6xf32>
  %2 = stablehlo.transpose %w, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<4x6xf32>
  %4 = stablehlo.reshape %3 : (tensor<4x6xf32>) -> tensor<24xf32>
  %5 = stablehlo.tanh %4 : tensor<24xf32>
  %6 = stablehlo.reshape %1 : (tensor<4x6xf32>) -> tensor<2x12xf32>
  %7 = stablehlo.reverse %6, dims = [1] : tensor<2x12xf32>
  return %5, %7 : tensor<24xf32>, tensor<2x12xf32>
}

// -----

// A loop is split where a reading needs it: heads of an attention side by side.
// CHECK: tir.map(%arg0) over [5, 3, 4] reading [#tir.view<0, [4, 20, 1]>]
func.func @main(%a: tensor<3x5x4xf32>) -> tensor<5x12xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<3x5x4xf32>) -> tensor<5x3x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<5x3x4xf32>) -> tensor<5x12xf32>
  %2 = stablehlo.negate %1 : tensor<5x12xf32>
  return %2 : tensor<5x12xf32>
}

// -----

// Between the two additions the program goes another way: they are no group.
// CHECK: %[[A:.*]] = tir.map(%arg0)
// CHECK: %[[S:.*]] = "stablehlo.sort"(%[[A]])
// CHECK: tir.map(%[[S]], %[[A]])
func.func @main(%a: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.add %a, %a : tensor<5xf32>
  %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<5xf32>) -> tensor<5xf32>
  %2 = stablehlo.add %1, %0 : tensor<5xf32>
  return %2 : tensor<5xf32>
}

// -----

// A pad is read through, its padding is the program's number.
// CHECK: tir.map(%arg0) over [8] reading [#tir.view<-2, [1], valid [2, 7], 5.000000e-01 : f32>]
func.func @main(%a: tensor<5xf32>) -> tensor<8xf32> {
  %h = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = stablehlo.pad %a, %h, low = [2], high = [1], interior = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.negate %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
