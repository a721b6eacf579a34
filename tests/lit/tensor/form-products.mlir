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
