// Bias, activation and residual are done while the product is at hand; what is needed before them is not.
// RUN: cupel opt %s --form-products --fuse-epilogues --split-input-file | FileCheck %s

// CHECK: tir.product(%arg0, %arg1) with(%arg2, %arg3)
// CHECK-SAME: #tir.view<0, [0, 1]>, #tir.view<0, [8, 1]>
// CHECK: stablehlo.add
// CHECK: stablehlo.maximum
// CHECK: stablehlo.add
// CHECK: tir.yield
func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %b: tensor<8xf32>, %r: tensor<2x2x8xf32>) -> tensor<2x2x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<2x2x8xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x8xf32>) -> tensor<2x2x8xf32>
  %2 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<8xf32>) -> tensor<2x2x8xf32>
  %3 = stablehlo.add %1, %2 : tensor<2x2x8xf32>
  %4 = stablehlo.maximum %3, %zero : tensor<2x2x8xf32>
  %5 = stablehlo.add %4, %r : tensor<2x2x8xf32>
  return %5 : tensor<2x2x8xf32>
}

// -----

// Both are needed: the product ends with the first.
// CHECK: %[[P:.*]] = tir.product
// CHECK: stablehlo.add %{{.*}} : tensor<f32>
// CHECK: tir.yield
// CHECK: stablehlo.tanh %[[P]] : tensor<4x8xf32>
func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %r: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.add %0, %r : tensor<4x8xf32>
  %2 = stablehlo.tanh %1 : tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A result in bf16 is rounded while it is at hand, also behind a product that rounds.
// CHECK: tir.product({{.*}} -> tensor<4x8xbf16>
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<f32>):
// CHECK: %[[T:.*]] = stablehlo.tanh %[[S]] : tensor<f32>
// CHECK: %[[R:.*]] = stablehlo.convert %[[T]] : (tensor<f32>) -> tensor<bf16>
// CHECK: tir.yield %[[R]] : tensor<bf16>
// CHECK: tir.product({{.*}} -> tensor<4x8xbf16>
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<f32>):
// CHECK: %[[R:.*]] = stablehlo.convert %[[S]] : (tensor<f32>) -> tensor<bf16>
// CHECK: %[[T:.*]] = stablehlo.tanh %[[R]] : tensor<bf16>
// CHECK: tir.yield %[[T]] : tensor<bf16>
func.func @main(%x: tensor<4x6xbf16>, %w: tensor<6x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xbf16>, tensor<6x8xbf16>) -> tensor<4x8xf32>
  %1 = stablehlo.tanh %0 : tensor<4x8xf32>
  %2 = stablehlo.convert %1 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %3 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xbf16>, tensor<6x8xbf16>) -> tensor<4x8xbf16>
  %4 = stablehlo.tanh %3 : tensor<4x8xbf16>
  return %2, %4 : tensor<4x8xbf16>, tensor<4x8xbf16>
}

// -----

// Batches give f32.
// CHECK: tir.product({{.*}} -> tensor<2x4x8xf32>
// CHECK: stablehlo.convert {{.*}} -> tensor<2x4x8xbf16>
func.func @main(%x: tensor<2x4x6xf32>, %w: tensor<2x6x8xf32>) -> tensor<2x4x8xbf16> {
  %0 = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  %1 = stablehlo.convert %0 : (tensor<2x4x8xf32>) -> tensor<2x4x8xbf16>
  return %1 : tensor<2x4x8xbf16>
}

// -----

// What is all that becomes of another product is done there, and read as it is made.
// CHECK: %[[A:.*]] = tir.product(%arg0, %arg2) with(%arg3)
// CHECK: stablehlo.multiply
// CHECK-NOT: stablehlo.add
// CHECK: tir.yield
// CHECK: tir.product(%arg0, %arg1) with(%arg4, %[[A]])
// CHECK: stablehlo.multiply
// CHECK: stablehlo.add
// CHECK: stablehlo.tanh
// CHECK: tir.yield
// CHECK-NOT: tir.map
func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %v: tensor<6x8xf32>, %s: tensor<8xf32>, %t: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %t, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4x8xf32>
  %3 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %4 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %5 = stablehlo.multiply %3, %4 : tensor<4x8xf32>
  %6 = stablehlo.add %2, %5 : tensor<4x8xf32>
  %7 = stablehlo.tanh %6 : tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}

// -----

// The same where it is rounded on its way: bf16 lies in memory, and is widened where it is added.
// CHECK: %[[A:.*]] = tir.product(%arg0, %arg2) {{.*}} -> tensor<4x8xbf16>
// CHECK: stablehlo.convert {{.*}} -> tensor<bf16>
// CHECK-NEXT: tir.yield
// CHECK: tir.product(%arg0, %arg1) with(%[[A]])
// CHECK: stablehlo.convert {{.*}} : (tensor<bf16>) -> tensor<f32>
// CHECK: stablehlo.add
// CHECK: tir.yield
// CHECK-NOT: tir.map
func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.convert %1 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %3 = stablehlo.convert %2 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %4 = stablehlo.add %0, %3 : tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// That bf16 was asked for stays known behind a fusion.
// CHECK-LABEL: func.func @narrowed
// CHECK: tir.convolution(%arg0, %arg1) {{.*}} rounded reading {{.*}}] attributes {cupel.narrowed} : (tensor<1x4x4x8xbf16>, tensor<1x1x8x16xf32>) -> tensor<1x4x4x16xbf16>
func.func @narrowed(%x: tensor<1x4x4x8xbf16>, %w: tensor<1x1x8x16xf32>) -> tensor<1x4x4x16xbf16> {
  %0 = tir.convolution(%x, %w) window [1, 1] strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] groups 1 rounded reading [#tir.view<0, [0, 0, 16, 1]>] attributes {cupel.narrowed} : (tensor<1x4x4x8xbf16>, tensor<1x1x8x16xf32>) -> tensor<1x4x4x16xf32> {
  ^bb0(%e: tensor<f32>):
    tir.yield %e : tensor<f32>
  }
  %1 = stablehlo.convert %0 : (tensor<1x4x4x16xf32>) -> tensor<1x4x4x16xbf16>
  return %1 : tensor<1x4x4x16xbf16>
}
