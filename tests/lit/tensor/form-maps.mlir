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

// -----

// A chain of any length behind an operation that only its end needs is one map: what is made on the way is not read.
// CHECK-LABEL: func.func @chain
// CHECK: tir.map(%arg0) over [24]
// CHECK-NOT: tir.map
func.func @chain(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %c = stablehlo.constant dense<0.3> : tensor<4x6xf32>
  %first = stablehlo.multiply %x, %c : tensor<4x6xf32>
  %p1 = stablehlo.multiply %x, %x : tensor<4x6xf32>
  %q1 = stablehlo.add %p1, %c : tensor<4x6xf32>
  %p2 = stablehlo.multiply %q1, %x : tensor<4x6xf32>
  %q2 = stablehlo.add %p2, %c : tensor<4x6xf32>
  %p3 = stablehlo.multiply %q2, %x : tensor<4x6xf32>
  %q3 = stablehlo.add %p3, %c : tensor<4x6xf32>
  %p4 = stablehlo.multiply %q3, %x : tensor<4x6xf32>
  %q4 = stablehlo.add %p4, %c : tensor<4x6xf32>
  %p5 = stablehlo.multiply %q4, %x : tensor<4x6xf32>
  %q5 = stablehlo.add %p5, %c : tensor<4x6xf32>
  %p6 = stablehlo.multiply %q5, %x : tensor<4x6xf32>
  %q6 = stablehlo.add %p6, %c : tensor<4x6xf32>
  %p7 = stablehlo.multiply %q6, %x : tensor<4x6xf32>
  %q7 = stablehlo.add %p7, %c : tensor<4x6xf32>
  %p8 = stablehlo.multiply %q7, %x : tensor<4x6xf32>
  %q8 = stablehlo.add %p8, %c : tensor<4x6xf32>
  %p9 = stablehlo.multiply %q8, %x : tensor<4x6xf32>
  %q9 = stablehlo.add %p9, %c : tensor<4x6xf32>
  %p10 = stablehlo.multiply %q9, %x : tensor<4x6xf32>
  %q10 = stablehlo.add %p10, %c : tensor<4x6xf32>
  %p11 = stablehlo.multiply %q10, %x : tensor<4x6xf32>
  %q11 = stablehlo.add %p11, %c : tensor<4x6xf32>
  %p12 = stablehlo.multiply %q11, %x : tensor<4x6xf32>
  %q12 = stablehlo.add %p12, %c : tensor<4x6xf32>
  %p13 = stablehlo.multiply %q12, %x : tensor<4x6xf32>
  %q13 = stablehlo.add %p13, %c : tensor<4x6xf32>
  %p14 = stablehlo.multiply %q13, %x : tensor<4x6xf32>
  %q14 = stablehlo.add %p14, %c : tensor<4x6xf32>
  %p15 = stablehlo.multiply %q14, %x : tensor<4x6xf32>
  %q15 = stablehlo.add %p15, %c : tensor<4x6xf32>
  %p16 = stablehlo.multiply %q15, %x : tensor<4x6xf32>
  %q16 = stablehlo.add %p16, %c : tensor<4x6xf32>
  %p17 = stablehlo.multiply %q16, %x : tensor<4x6xf32>
  %q17 = stablehlo.add %p17, %c : tensor<4x6xf32>
  %p18 = stablehlo.multiply %q17, %x : tensor<4x6xf32>
  %q18 = stablehlo.add %p18, %c : tensor<4x6xf32>
  %last = stablehlo.multiply %first, %q18 : tensor<4x6xf32>
  return %last : tensor<4x6xf32>
}

// -----

// Slices that are put beside others along the dimension that they are cut in are read where they lie; others are copies.
// CHECK-LABEL: func.func @rolled
// CHECK: %[[A:.*]] = stablehlo.slice %arg0
// CHECK: %[[B:.*]] = stablehlo.slice %arg0
// CHECK: stablehlo.concatenate %[[A]], %[[B]], dim = 1
// CHECK: %[[C:.*]] = tir.map(%arg0)
// CHECK: stablehlo.concatenate %[[C]], %arg1, dim = 0
func.func @rolled(%x: tensor<4x6xf32>, %y: tensor<4x4xf32>) -> (tensor<4x6xf32>, tensor<8x4xf32>) {
  %0 = stablehlo.slice %x [0:4, 2:6] : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.slice %x [0:4, 0:2] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.slice %x [0:4, 1:5] : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %4 = stablehlo.concatenate %3, %y, dim = 0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2, %4 : tensor<4x6xf32>, tensor<8x4xf32>
}

// One of several caches that lie behind each other is joined where it lies: the slice is of the whole in the other shape.
// CHECK-LABEL: func.func @joined_stretch
// CHECK: %[[W:.*]] = stablehlo.reshape %arg0 : (tensor<4x1x3x5xf32>) -> tensor<4x3x5xf32>
// CHECK: %[[S:.*]] = stablehlo.slice %[[W]] [2:3, 0:3, 0:5] : (tensor<4x3x5xf32>) -> tensor<1x3x5xf32>
// CHECK-NOT: tir.map
// CHECK: stablehlo.concatenate %[[S]], %arg1, dim = 1
func.func @joined_stretch(%caches: tensor<4x1x3x5xf32>, %next: tensor<1x1x5xf32>) -> tensor<1x4x5xf32> {
  %0 = stablehlo.slice %caches [2:3, 0:1, 0:3, 0:5] : (tensor<4x1x3x5xf32>) -> tensor<1x1x3x5xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x1x3x5xf32>) -> tensor<1x3x5xf32>
  %2 = stablehlo.concatenate %1, %next, dim = 1 : (tensor<1x3x5xf32>, tensor<1x1x5xf32>) -> tensor<1x4x5xf32>
  return %2 : tensor<1x4x5xf32>
}

// Lines of several planes are no stretch.
// CHECK-LABEL: func.func @joined_lines
// CHECK: tir.map
// CHECK: stablehlo.concatenate
func.func @joined_lines(%planes: tensor<2x6x5xf32>, %next: tensor<2x15xf32>) -> tensor<2x30xf32> {
  %0 = stablehlo.slice %planes [0:2, 3:6, 0:5] : (tensor<2x6x5xf32>) -> tensor<2x3x5xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x3x5xf32>) -> tensor<2x15xf32>
  %2 = stablehlo.concatenate %1, %next, dim = 1 : (tensor<2x15xf32>, tensor<2x15xf32>) -> tensor<2x30xf32>
  return %2 : tensor<2x30xf32>
}

// Pairs that stay together are moved as one element of 64 bits, in the same memory; three of them, or halves of pairs, are not.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[P:.*]] = stablehlo.bitcast_convert {{.*}} : (tensor<12x2xf32>) -> tensor<12xi64>
// CHECK: %[[M:.*]] = tir.map(%[[P]]) over [3, 4] reading [#tir.view<0, [1, 3]>] : (tensor<12xi64>) -> tensor<12xi64>
// CHECK: %[[A:.*]] = stablehlo.bitcast_convert %[[M]] : (tensor<12xi64>) -> tensor<12x2xf32>
// CHECK: tir.map(%[[A]]) over [12, 2] reading [#tir.view<1, [2, -1]>]
// CHECK: tir.map(%arg1) over [2, 4, 3] reading [#tir.view<0, [3, 6, 1]>]
func.func @pairs(%x: tensor<4x3x2xf32>, %y: tensor<4x2x3xf32>) -> (tensor<3x4x2xf32>, tensor<3x4x2xf32>, tensor<2x4x3xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<4x3x2xf32>) -> tensor<3x4x2xf32>
  %1 = stablehlo.reverse %0, dims = [2] : tensor<3x4x2xf32>
  %2 = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  return %0, %1, %2 : tensor<3x4x2xf32>, tensor<3x4x2xf32>, tensor<2x4x3xf32>
}

// -----

// Bits of elements are elements, where there are as many of them.
// CHECK-LABEL: func.func @bits
// CHECK: tir.map(%arg0)
// CHECK: stablehlo.bitcast_convert %{{.*}} : (tensor<f32>) -> tensor<i32>
// CHECK: stablehlo.bitcast_convert %{{.*}} : (tensor<i32>) -> tensor<f32>
// CHECK: tir.yield
// CHECK-NOT: tir.map
func.func @bits(%x: tensor<8xf32>) -> tensor<8xf32> {
  %one = stablehlo.constant dense<1> : tensor<8xi32>
  %0 = stablehlo.bitcast_convert %x : (tensor<8xf32>) -> tensor<8xi32>
  %1 = stablehlo.or %0, %one : tensor<8xi32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<8xi32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
