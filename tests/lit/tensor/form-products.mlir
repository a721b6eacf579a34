// dot_general becomes a product that reads its sides as they lie.
// RUN: cupel opt %s --form-products --split-input-file | FileCheck %s

// CHECK: tir.product(%arg0, %arg1) batch [] rows 8 columns 8 depth 6 reading [#tir.view<0, [6, 1]>, #tir.view<0, [1, 6]>]
// CHECK-NOT: stablehlo.transpose
func.func @main(%x: tensor<2x4x6xf32>, %w: tensor<8x6xf32>) -> tensor<8x8xf32> {
  %wt = stablehlo.transpose %w, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %xf = stablehlo.reshape %x : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
  %0 = stablehlo.dot_general %xf, %wt, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// Heads of an attention are batches, wherever they lie.
// CHECK: tir.product(%arg0, %arg1) batch [3] rows 5 columns 5 depth 4 reading [#tir.view<0, [4, 12, 1]>, #tir.view<0, [4, 1, 12]>]
func.func @main(%q: tensor<5x3x4xf32>, %k: tensor<5x3x4xf32>) -> tensor<3x5x5xf32> {
  %0 = stablehlo.transpose %q, dims = [1, 0, 2] : (tensor<5x3x4xf32>) -> tensor<3x5x4xf32>
  %1 = stablehlo.transpose %k, dims = [1, 2, 0] : (tensor<5x3x4xf32>) -> tensor<3x4x5xf32>
  %2 = stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x5x4xf32>, tensor<3x4x5xf32>) -> tensor<3x5x5xf32>
  return %2 : tensor<3x5x5xf32>
}

// -----

// Other elements than f32 are left alone.
// CHECK: stablehlo.dot_general
func.func @main(%x: tensor<4x6xi32>, %w: tensor<6x8xi32>) -> tensor<4x8xi32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xi32>, tensor<6x8xi32>) -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}

// -----

// Sums of bf16 are f32, rounded once where the result is bf16; a result in f32 takes an epilogue as others do.
// CHECK: tir.product(%arg0, %arg1) batch [] rows 4 columns 8 depth 6 {{.*}} : (tensor<4x6xbf16>, tensor<6x8xbf16>) -> tensor<4x8xbf16>
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<f32>):
// CHECK-NEXT: %[[R:.*]] = stablehlo.convert %[[S]] : (tensor<f32>) -> tensor<bf16>
// CHECK-NEXT: tir.yield %[[R]] : tensor<bf16>
// CHECK: tir.product(%arg0, %arg1) {{.*}} -> tensor<4x8xf32>
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<f32>):
// CHECK-NEXT: tir.yield %[[S]] : tensor<f32>
func.func @main(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xbf16>, tensor<6x8xbf16>) -> tensor<4x8xbf16>
  %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xbf16>, tensor<6x8xbf16>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xbf16>, tensor<4x8xf32>
}

// -----

// What was widened from bf16 is read as it was; who asks for more gets f32, and batches are left to attention.
// CHECK: tir.product(%arg0, %arg1) {{.*}} : (tensor<4x6xbf16>, tensor<8x6xbf16>) -> tensor<4x8xf32>
// CHECK: tir.product({{.*}} : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
func.func @main(%x: tensor<4x6xbf16>, %w: tensor<8x6xbf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.convert %x : (tensor<4x6xbf16>) -> tensor<4x6xf32>
  %1 = stablehlo.convert %w : (tensor<8x6xbf16>) -> tensor<8x6xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %3 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %4 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %3, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A matrix that the program made, times one column, is one row times the matrix, read where it lies.
// CHECK: %[[M:.*]] = stablehlo.tanh %arg0
// CHECK: tir.product(%arg1, %[[M]]) batch [] rows 1 columns 40 depth 6 reading [#tir.view<0, [0, 1]>, #tir.view<0, [1, 6]>] : (tensor<6x1xf32>, tensor<40x6xf32>) -> tensor<40x1xf32>
// What it was given may be weights.
// CHECK: tir.product(%arg0, %arg1) batch [] rows 40 columns 1 depth 6
func.func @main(%x: tensor<40x6xf32>, %w: tensor<6x1xf32>) -> (tensor<40x1xf32>, tensor<40x1xf32>) {
  %0 = stablehlo.tanh %x : tensor<40x6xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<40x6xf32>, tensor<6x1xf32>) -> tensor<40x1xf32>
  %2 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<40x6xf32>, tensor<6x1xf32>) -> tensor<40x1xf32>
  return %1, %2 : tensor<40x1xf32>, tensor<40x1xf32>
}

// Weights of experts are read where they lie, a product for each, and not brought together.
// CHECK-LABEL: func.func @experts
// CHECK: tir.product(%arg0, %arg1) batch [8] rows 5 columns 32 depth 16 reading [#tir.view<0, [0, 16, 1]>, #tir.view<0, [512, 32, 1]>] : (tensor<5x16xf32>, tensor<8x16x32xf32>) -> tensor<8x5x32xf32>
// CHECK: stablehlo.transpose {{.*}}, dims = [1, 0, 2]
func.func @experts(%x: tensor<5x16xf32>, %w: tensor<8x16x32xf32>) -> tensor<5x256xf32> {
  %0 = stablehlo.transpose %w, dims = [1, 0, 2] : (tensor<8x16x32xf32>) -> tensor<16x8x32xf32>
  %1 = stablehlo.reshape %0 : (tensor<16x8x32xf32>) -> tensor<16x256xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<5x16xf32>, tensor<16x256xf32>) -> tensor<5x256xf32>
  return %2 : tensor<5x256xf32>
}

// As deep as there are columns, of which one of size one lies before the depth: nothing is split that the depth goes along.
// CHECK-LABEL: func.func @square
// CHECK-NOT: batch [2]
// CHECK: tir.product
// CHECK-NOT: batch [2]
func.func @square(%x: tensor<5x32xf32>, %w: tensor<16x2x32xf32>) -> tensor<5x1x32xf32> {
  %0 = stablehlo.transpose %w, dims = [1, 0, 2] : (tensor<16x2x32xf32>) -> tensor<2x16x32xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x16x32xf32>) -> tensor<1x32x32xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [1] : (tensor<5x32xf32>, tensor<1x32x32xf32>) -> tensor<5x1x32xf32>
  return %2 : tensor<5x1x32xf32>
}

// Heads that share keys: the batch is cut where the keys are repeated, and they are read where they lie.
// CHECK-LABEL: func.func @shared_keys
// CHECK-NOT: stablehlo.broadcast_in_dim
// CHECK: tir.product(%arg0, %arg1) batch [6, 4] rows 1 columns 128 depth 64 reading [#tir.view<0, [256, 64, {{.*}}, 1]>, #tir.view<0, [8192, 0, 1, 64]>]
func.func @shared_keys(%q: tensor<24x1x64xf32>, %k: tensor<3x2x128x64xf32>) -> tensor<24x1x128xf32> {
  %0 = stablehlo.reshape %k : (tensor<3x2x128x64xf32>) -> tensor<3x2x1x128x64xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3, 4] : (tensor<3x2x1x128x64xf32>) -> tensor<3x2x4x128x64xf32>
  %2 = stablehlo.reshape %1 : (tensor<3x2x4x128x64xf32>) -> tensor<3x8x128x64xf32>
  %3 = stablehlo.transpose %2, dims = [0, 1, 3, 2] : (tensor<3x8x128x64xf32>) -> tensor<3x8x64x128xf32>
  %4 = stablehlo.reshape %3 : (tensor<3x8x64x128xf32>) -> tensor<24x64x128xf32>
  %5 = stablehlo.dot_general %q, %4, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<24x1x64xf32>, tensor<24x64x128xf32>) -> tensor<24x1x128xf32>
  return %5 : tensor<24x1x128xf32>
}

// Cut in two ways, one of which goes through the other's pieces: what is repeated is made.
// CHECK-LABEL: func.func @unlike_cuts
// CHECK: stablehlo.broadcast_in_dim
// CHECK: tir.product({{.*}}) batch [6] rows 5 columns 8 depth 7
func.func @unlike_cuts(%a: tensor<2x5x7xf32>, %b: tensor<3x7x8xf32>) -> tensor<6x5x8xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 2, 3] : (tensor<2x5x7xf32>) -> tensor<2x3x5x7xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x3x5x7xf32>) -> tensor<6x5x7xf32>
  %2 = stablehlo.broadcast_in_dim %b, dims = [0, 2, 3] : (tensor<3x7x8xf32>) -> tensor<3x2x7x8xf32>
  %3 = stablehlo.reshape %2 : (tensor<3x2x7x8xf32>) -> tensor<6x7x8xf32>
  %4 = stablehlo.dot_general %1, %3, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x5x7xf32>, tensor<6x7x8xf32>) -> tensor<6x5x8xf32>
  return %4 : tensor<6x5x8xf32>
}
