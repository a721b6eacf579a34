// Two products with a function of rows between them are one operation, whatever the function is; what the first product does to its elements joins
// it, and heads that are moved beside each other are written there.
// RUN: cupel opt %s --form-products --fuse-epilogues --form-rows --form-maps --form-attention --split-input-file | FileCheck %s
// RUN: cupel opt %s --form-products --fuse-epilogues --form-rows --form-maps --form-attention --expand-tensor-ir --split-input-file | FileCheck %s --check-prefix=EXPANDED

// The mask is read by rows; heads lie beside each other in the result.
// CHECK-NOT: tir.product
// CHECK: %[[A:.*]] = tir.attention(%arg0, %arg1, %arg2) with(%arg3) batch [3] rows 16 columns 24 depth 4 width 8 over [3, 16] placing [8, 24]
// CHECK-SAME: #tir.view<0, [4, 12, 1]>, #tir.view<0, [4, 1, 12]>, #tir.view<0, [8, 24, 1]>, #tir.view<0, [0, 24, 1]>
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<24xf32>, %[[M:.*]]: tensor<24xf32>):
// CHECK: %[[C:.*]] = stablehlo.multiply %[[S]], %{{.*}} : tensor<24xf32>
// CHECK: stablehlo.add %[[C]], %[[M]] : tensor<24xf32>
// CHECK: applies stablehlo.maximum
// CHECK: stablehlo.divide
// CHECK-NOT: tir.product
// CHECK-NOT: tir.map
// CHECK: return
// EXPANDED: stablehlo.dot_general
// EXPANDED: stablehlo.exponential
// EXPANDED: stablehlo.dot_general
// EXPANDED: stablehlo.transpose %{{.*}}, dims = [1, 0, 2] : (tensor<3x16x8xf32>) -> tensor<16x3x8xf32>
func.func @main(%q: tensor<16x3x4xf32>, %k: tensor<24x3x4xf32>, %v: tensor<24x3x8xf32>, %m: tensor<16x24xf32>) -> tensor<16x24xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<3x16x24xf32>
  %qt = stablehlo.transpose %q, dims = [1, 0, 2] : (tensor<16x3x4xf32>) -> tensor<3x16x4xf32>
  %kt = stablehlo.transpose %k, dims = [1, 0, 2] : (tensor<24x3x4xf32>) -> tensor<3x24x4xf32>
  %vt = stablehlo.transpose %v, dims = [1, 0, 2] : (tensor<24x3x8xf32>) -> tensor<3x24x8xf32>
  %0 = stablehlo.dot_general %qt, %kt, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x16x4xf32>, tensor<3x24x4xf32>) -> tensor<3x16x24xf32>
  %1 = stablehlo.multiply %0, %half : tensor<3x16x24xf32>
  %2 = stablehlo.broadcast_in_dim %m, dims = [1, 2] : (tensor<16x24xf32>) -> tensor<3x16x24xf32>
  %3 = stablehlo.add %1, %2 : tensor<3x16x24xf32>
  %4 = stablehlo.reduce(%3 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<3x16x24xf32>, tensor<f32>) -> tensor<3x16xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<3x16xf32>) -> tensor<3x16x24xf32>
  %6 = stablehlo.subtract %3, %5 : tensor<3x16x24xf32>
  %7 = stablehlo.exponential %6 : tensor<3x16x24xf32>
  %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x16x24xf32>, tensor<f32>) -> tensor<3x16xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<3x16xf32>) -> tensor<3x16x24xf32>
  %10 = stablehlo.divide %7, %9 : tensor<3x16x24xf32>
  %11 = stablehlo.dot_general %10, %vt, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x16x24xf32>, tensor<3x24x8xf32>) -> tensor<3x16x8xf32>
  %12 = stablehlo.transpose %11, dims = [1, 0, 2] : (tensor<3x16x8xf32>) -> tensor<16x3x8xf32>
  %13 = stablehlo.reshape %12 : (tensor<16x3x8xf32>) -> tensor<16x24xf32>
  return %13 : tensor<16x24xf32>
}

// -----

// Somebody else needs the weights, as gradients do: three operations.
// CHECK-NOT: tir.attention
// CHECK: tir.product
// CHECK: tir.row
// CHECK: tir.product
// CHECK: return
func.func @main(%q: tensor<3x16x4xf32>, %k: tensor<3x4x24xf32>, %v: tensor<3x24x8xf32>) -> (tensor<3x16x8xf32>, tensor<3x16x24xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x16x4xf32>, tensor<3x4x24xf32>) -> tensor<3x16x24xf32>
  %1 = stablehlo.exponential %0 : tensor<3x16x24xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x16x24xf32>, tensor<f32>) -> tensor<3x16xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<3x16xf32>) -> tensor<3x16x24xf32>
  %4 = stablehlo.divide %1, %3 : tensor<3x16x24xf32>
  %5 = stablehlo.dot_general %4, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x16x24xf32>, tensor<3x24x8xf32>) -> tensor<3x16x8xf32>
  return %5, %4 : tensor<3x16x8xf32>, tensor<3x16x24xf32>
}

// -----

// One row for each head is read against matrices as they lie.
// CHECK-NOT: tir.attention
// CHECK: tir.product
func.func @main(%q: tensor<3x1x4xf32>, %k: tensor<3x4x24xf32>, %v: tensor<3x24x8xf32>) -> tensor<3x1x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x1x4xf32>, tensor<3x4x24xf32>) -> tensor<3x1x24xf32>
  %1 = stablehlo.exponential %0 : tensor<3x1x24xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x1x24xf32>, tensor<f32>) -> tensor<3x1xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x1x24xf32>
  %4 = stablehlo.divide %1, %3 : tensor<3x1x24xf32>
  %5 = stablehlo.dot_general %4, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x1x24xf32>, tensor<3x24x8xf32>) -> tensor<3x1x8xf32>
  return %5 : tensor<3x1x8xf32>
}
