// Products and convolutions of dequantized integers are sums of integers, multiplied once with the product of the scales.
// RUN: cupel opt %s --integer-sums --split-input-file | FileCheck %s

// Weights have a scale for each column. Moves of what was dequantized are moves of integers.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[A:.*]]: tensor<2x4xui8>, %[[B:.*]]: tensor<3x4xi8>)
func.func @product(%a: tensor<2x4xui8>, %b: tensor<3x4xi8>) -> tensor<2x3xf32> {
  %point = stablehlo.constant dense<128> : tensor<i32>
  %0 = stablehlo.broadcast_in_dim %point, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
  // CHECK: %[[WIDE:.*]] = stablehlo.convert %[[A]] : (tensor<2x4xui8>) -> tensor<2x4xi32>
  // CHECK: %[[POINT:.*]] = stablehlo.constant dense<128> : tensor<2x4xi32>
  // CHECK: %[[LEFT:.*]] = stablehlo.subtract %[[WIDE]], %[[POINT]]
  %1 = stablehlo.convert %a : (tensor<2x4xui8>) -> tensor<2x4xi32>
  %2 = stablehlo.subtract %1, %0 : tensor<2x4xi32>
  %3 = stablehlo.convert %2 : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %scale = stablehlo.constant dense<0.5> : tensor<2x4xf32>
  %4 = stablehlo.multiply %3, %scale : tensor<2x4xf32>
  // CHECK: %[[ROWS:.*]] = stablehlo.convert %[[B]] : (tensor<3x4xi8>) -> tensor<3x4xi32>
  // CHECK: %[[RIGHT:.*]] = stablehlo.transpose %[[ROWS]], dims = [1, 0] : (tensor<3x4xi32>) -> tensor<4x3xi32>
  %scales = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %5 = stablehlo.reshape %scales : (tensor<3xf32>) -> tensor<3x1xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x4xf32>
  %7 = stablehlo.convert %b : (tensor<3x4xi8>) -> tensor<3x4xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<3x4xf32>
  %9 = stablehlo.transpose %8, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.dot_general %[[LEFT]], %[[RIGHT]], contracting_dims = [1] x [0] : (tensor<2x4xi32>, tensor<4x3xi32>) -> tensor<2x3xi32>
  // CHECK: %[[FLOAT:.*]] = stablehlo.convert %[[SUM]] : (tensor<2x3xi32>) -> tensor<2x3xf32>
  // CHECK: %[[SCALES:.*]] = stablehlo.constant dense<[5.000000e-01, 1.000000e+00, 1.500000e+00]> : tensor<3xf32>
  // CHECK: %[[SPREAD:.*]] = stablehlo.broadcast_in_dim %[[SCALES]], dims = [1]
  // CHECK: stablehlo.multiply %[[FLOAT]], %[[SPREAD]]
  %10 = stablehlo.dot_general %4, %9, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %10 : tensor<2x3xf32>
}

// -----

// A scale for each row, and one for each column; zero points that were taken as floats.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: stablehlo.dot_general {{.*}} -> tensor<2x3xi32>
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [0] : (tensor<2xf32>)
// CHECK: stablehlo.multiply
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<3xf32>)
// CHECK: stablehlo.multiply
func.func @rows_and_columns(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) -> tensor<2x3xf32> {
  %rows = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %columns = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %point = stablehlo.constant dense<-3.0> : tensor<2x4xf32>
  %0 = stablehlo.convert %a : (tensor<2x4xi8>) -> tensor<2x4xf32>
  %1 = stablehlo.subtract %0, %point : tensor<2x4xf32>
  %2 = stablehlo.broadcast_in_dim %rows, dims = [0] : (tensor<2xf32>) -> tensor<2x4xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<2x4xf32>
  %4 = stablehlo.convert %b : (tensor<4x3xi8>) -> tensor<4x3xf32>
  %5 = stablehlo.broadcast_in_dim %columns, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
  %6 = stablehlo.multiply %4, %5 : tensor<4x3xf32>
  %7 = stablehlo.dot_general %3, %6, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %7 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @convolution
// CHECK: stablehlo.convolution{{.*}}(tensor<1x2x4x4xi32>, tensor<3x2x3x3xi32>) -> tensor<1x3x2x2xi32>
// CHECK: stablehlo.constant dense<[5.000000e-01, 1.000000e+00, 1.500000e+00]> : tensor<3xf32>
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<3xf32>) -> tensor<1x3x2x2xf32>
func.func @convolution(%image: tensor<1x2x4x4xui8>, %kernel: tensor<3x2x3x3xi8>) -> tensor<1x3x2x2xf32> {
  %scale = stablehlo.constant dense<0.5> : tensor<1x2x4x4xf32>
  %scales = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = stablehlo.convert %image : (tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xf32>
  %1 = stablehlo.multiply %0, %scale : tensor<1x2x4x4xf32>
  %2 = stablehlo.convert %kernel : (tensor<3x2x3x3xi8>) -> tensor<3x2x3x3xf32>
  %3 = stablehlo.broadcast_in_dim %scales, dims = [0] : (tensor<3xf32>) -> tensor<3x2x3x3xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<3x2x3x3xf32>
  %5 = stablehlo.convolution(%1, %4) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x2x2xf32>
  return %5 : tensor<1x3x2x2xf32>
}

// -----

// Scales that differ along what is summed, are infinite, not above zero or known at run time only; a side that is no integer.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: tensor<2x2xi32>
func.func @kept(%a: tensor<2x2xi8>, %b: tensor<2x2xf32>, %s: tensor<f32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<2x2xf32>
  %deep = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = stablehlo.convert %a : (tensor<2x2xi8>) -> tensor<2x2xf32>
  %1 = stablehlo.multiply %0, %one : tensor<2x2xf32>
  %2 = stablehlo.broadcast_in_dim %deep, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
  %3 = stablehlo.multiply %0, %2 : tensor<2x2xf32>
  %4 = stablehlo.dot_general %1, %3, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %infinite = stablehlo.constant dense<0x7F800000> : tensor<2x2xf32>
  %5 = stablehlo.multiply %0, %infinite : tensor<2x2xf32>
  %6 = stablehlo.dot_general %1, %5, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %negative = stablehlo.constant dense<-1.0> : tensor<2x2xf32>
  %7 = stablehlo.multiply %0, %negative : tensor<2x2xf32>
  %8 = stablehlo.dot_general %1, %7, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %9 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
  %10 = stablehlo.multiply %0, %9 : tensor<2x2xf32>
  %11 = stablehlo.dot_general %1, %10, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %12 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %4, %6, %8, %11, %12 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// A sum that might not fit in 32 bits.
// CHECK-LABEL: func.func @long
// CHECK-NOT: tensor<1x1xi32>
func.func @long(%a: tensor<1x40000xui8>, %b: tensor<40000x1xui8>) -> tensor<1x1xf32> {
  %left = stablehlo.constant dense<1.0> : tensor<1x40000xf32>
  %right = stablehlo.constant dense<1.0> : tensor<40000x1xf32>
  %0 = stablehlo.convert %a : (tensor<1x40000xui8>) -> tensor<1x40000xf32>
  %1 = stablehlo.multiply %0, %left : tensor<1x40000xf32>
  %2 = stablehlo.convert %b : (tensor<40000x1xui8>) -> tensor<40000x1xf32>
  %3 = stablehlo.multiply %2, %right : tensor<40000x1xf32>
  %4 = stablehlo.dot_general %1, %3, contracting_dims = [1] x [0] : (tensor<1x40000xf32>, tensor<40000x1xf32>) -> tensor<1x1xf32>
  return %4 : tensor<1x1xf32>
}
