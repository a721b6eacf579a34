// Integers of few bits are read as they lie: kernels widen them, and weights stay arguments.
// RUN: cupel opt %s --read-integers | FileCheck %s

// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[A:.*]]: tensor<2x4xui8>, %[[B:.*]]: tensor<4x3xi8>)
func.func @product(%a: tensor<2x4xui8>, %b: tensor<4x3xi8>) -> tensor<2x3xi32> {
  %zero = stablehlo.constant dense<0> : tensor<4x3xi32>
  %point = stablehlo.constant dense<128> : tensor<2x4xi32>
  // CHECK: %[[WIDE:.*]] = stablehlo.convert %[[A]]
  %0 = stablehlo.convert %a : (tensor<2x4xui8>) -> tensor<2x4xi32>
  // CHECK: %[[FROM:.*]] = stablehlo.subtract %[[WIDE]]
  %1 = stablehlo.subtract %0, %point : tensor<2x4xi32>
  // CHECK-NOT: convert
  %2 = stablehlo.convert %b : (tensor<4x3xi8>) -> tensor<4x3xi32>
  %3 = stablehlo.subtract %2, %zero : tensor<4x3xi32>
  // CHECK: stablehlo.dot_general %[[FROM]], %[[B]], contracting_dims = [1] x [0] : (tensor<2x4xi32>, tensor<4x3xi8>) -> tensor<2x3xi32>
  %4 = stablehlo.dot_general %1, %3, contracting_dims = [1] x [0] : (tensor<2x4xi32>, tensor<4x3xi32>) -> tensor<2x3xi32>
  return %4 : tensor<2x3xi32>
}

// CHECK-LABEL: func.func @convolution
// CHECK-NOT: convert
// CHECK: stablehlo.convolution(%arg0, %arg1){{.*}}(tensor<1x4x4x2xui8>, tensor<3x3x2x2xi8>) -> tensor<1x2x2x2xi32>
func.func @convolution(%i: tensor<1x4x4x2xui8>, %k: tensor<3x3x2x2xi8>) -> tensor<1x2x2x2xi32> {
  %0 = stablehlo.convert %i : (tensor<1x4x4x2xui8>) -> tensor<1x4x4x2xi32>
  %1 = stablehlo.convert %k : (tensor<3x3x2x2xi8>) -> tensor<3x3x2x2xi32>
  %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xi32>, tensor<3x3x2x2xi32>) -> tensor<1x2x2x2xi32>
  return %2 : tensor<1x2x2x2xi32>
}

// What loses bits on the way, or has sums of other widths, stays.
// CHECK-LABEL: func.func @kept
// CHECK: %[[LOST:.*]] = stablehlo.convert %arg0 : (tensor<2x2xi64>) -> tensor<2x2xi32>
// CHECK: stablehlo.dot_general %[[LOST]], %[[LOST]]
// CHECK: %[[LONG:.*]] = stablehlo.convert %arg1 : (tensor<2x2xi8>) -> tensor<2x2xi64>
// CHECK: stablehlo.dot_general %[[LONG]], %[[LONG]]
// CHECK: %[[FLOAT:.*]] = stablehlo.convert %arg2 : (tensor<2x2xf32>) -> tensor<2x2xi32>
// CHECK: stablehlo.dot_general %[[FLOAT]], %[[FLOAT]]
func.func @kept(%a: tensor<2x2xi64>, %b: tensor<2x2xi8>, %c: tensor<2x2xf32>) -> (tensor<2x2xi32>, tensor<2x2xi64>, tensor<2x2xi32>) {
  %0 = stablehlo.convert %a : (tensor<2x2xi64>) -> tensor<2x2xi32>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %2 = stablehlo.convert %b : (tensor<2x2xi8>) -> tensor<2x2xi64>
  %3 = stablehlo.dot_general %2, %2, contracting_dims = [1] x [0] : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>
  %4 = stablehlo.convert %c : (tensor<2x2xf32>) -> tensor<2x2xi32>
  %5 = stablehlo.dot_general %4, %4, contracting_dims = [1] x [0] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return %1, %3, %5 : tensor<2x2xi32>, tensor<2x2xi64>, tensor<2x2xi32>
}
