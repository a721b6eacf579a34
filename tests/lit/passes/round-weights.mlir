// RUN: cupel opt --round-weights=formats=bfp_bf8 %s | FileCheck %s
// RUN: cupel opt --round-weights=formats=bfp_bf4 %s | FileCheck %s --check-prefix=FOUR
// RUN: not cupel opt --round-weights=formats=bfp9 %s 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: 'bfp9' is no format of weights; there are bfp8 (or bfp_bf8), bfp_bf4 and, for as they are, bf16

// A constant is rounded at once: these are the numbers of the format's own examples.
// CHECK-LABEL: func.func @constant
// FOUR-LABEL: func.func @constant
func.func @constant(%x: tensor<2x1xf32>) -> tensor<2x4xf32> {
  // CHECK-DAG: stablehlo.constant dense<{{\[\[}}3.000000e+00, 9.375000e-02, -9.375000e-02, 0.000000e+00]]> : tensor<1x4xf32>
  // FOUR-DAG: stablehlo.constant dense<{{\[\[}}3.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<1x4xf32>
  %w = stablehlo.constant dense<[[3.0, 0.1, -0.1, 0.015625]]> : tensor<1x4xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x1xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// An argument is rounded where it is used; once, however often that is.
// CHECK-LABEL: func.func @argument(%arg0: tensor<2x20xf32>, %arg1: tensor<20x20xbf16>
func.func @argument(%x: tensor<2x20xf32>, %w: tensor<20x20xbf16>) -> tensor<2x20xf32> {
  // CHECK: %[[TURNED:.*]] = stablehlo.transpose %arg1
  // CHECK: %[[WIDE:.*]] = stablehlo.convert %[[TURNED]]
  // CHECK: stablehlo.bitcast_convert {{.*}} : (tensor<40x16xf32>) -> tensor<40x16xui32>
  // CHECK: stablehlo.reduce
  // CHECK: %[[ROUNDED:.*]] = stablehlo.reshape {{.*}} : (tensor<20x20xf32>) -> tensor<20x20xf32>
  // CHECK-NOT: stablehlo.reduce
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<20x20xbf16>) -> tensor<20x20xbf16>
  %c = stablehlo.convert %t : (tensor<20x20xbf16>) -> tensor<20x20xf32>
  // CHECK: stablehlo.dot_general %arg0, %[[ROUNDED]]
  %0 = stablehlo.dot_general %x, %c, contracting_dims = [1] x [0] : (tensor<2x20xf32>, tensor<20x20xf32>) -> tensor<2x20xf32>
  // CHECK: stablehlo.dot_general {{.*}}, %[[ROUNDED]]
  %1 = stablehlo.dot_general %0, %c, contracting_dims = [1] x [0] : (tensor<2x20xf32>, tensor<20x20xf32>) -> tensor<2x20xf32>
  return %1 : tensor<2x20xf32>
}

// What is computed is no weight, nor is the left side, nor the kernel of a convolution, nor a number of f64.
// CHECK-LABEL: func.func @others
// CHECK-NOT: bitcast_convert
// CHECK: return
func.func @others(%x: tensor<4x4xf32>, %k: tensor<1x1x4x4xf32>, %d: tensor<4x4xf64>) -> (tensor<4x4xf32>, tensor<1x4x4x4xf32>, tensor<4x4xf64>) {
  %y = stablehlo.tanh %x : tensor<4x4xf32>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %i = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = stablehlo.dot_general %d, %d, contracting_dims = [1] x [0] : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<1x4x4x4xf32>, tensor<4x4xf64>
}
