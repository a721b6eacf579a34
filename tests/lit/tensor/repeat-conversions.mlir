// Each reader of what is widened for a sum widens it itself.
// RUN: cupel opt %s --repeat-conversions | FileCheck %s

// CHECK-LABEL: func.func @variance
// CHECK: %[[A:.*]] = stablehlo.convert %arg0
// CHECK: stablehlo.reduce(%[[A]] init
// CHECK: %[[B:.*]] = stablehlo.convert %arg0
// CHECK: %[[D:.*]] = stablehlo.subtract %[[B]]
// CHECK: stablehlo.multiply %[[D]], %[[D]]
func.func @variance(%x: tensor<64x8xf32>) -> tensor<8xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.convert %x : (tensor<64x8xf32>) -> tensor<64x8xf64>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x8xf64>, tensor<f64>) -> tensor<8xf64>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<8xf64>) -> tensor<64x8xf64>
  %3 = stablehlo.subtract %0, %2 : tensor<64x8xf64>
  %4 = stablehlo.multiply %3, %3 : tensor<64x8xf64>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x8xf64>, tensor<f64>) -> tensor<8xf64>
  return %5 : tensor<8xf64>
}

// What leaves the program is there anyway.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-1: stablehlo.convert
// CHECK-NOT: stablehlo.convert
func.func @kept(%x: tensor<64x8xf32>) -> (tensor<8xf64>, tensor<64x8xf64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.convert %x : (tensor<64x8xf32>) -> tensor<64x8xf64>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x8xf64>, tensor<f64>) -> tensor<8xf64>
  return %1, %0 : tensor<8xf64>, tensor<64x8xf64>
}
