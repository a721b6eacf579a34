// What is known is computed; multiplications by one are dropped.
// RUN: cupel opt %s --fold-constants | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[H:.*]] = stablehlo.constant dense<5.000000e-01> : tensor<100000xf32>
// CHECK-NEXT: %[[A:.*]] = stablehlo.add %arg0, %[[H]]
// CHECK-NEXT: %[[I:.*]] = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
// A large one that is no single number is left to the run.
// CHECK-NEXT: %[[L:.*]] = stablehlo.iota
// CHECK-NEXT: return %[[A]], %[[I]], %[[L]]
func.func @main(%a: tensor<100000xf32>) -> (tensor<100000xf32>, tensor<3xi32>, tensor<100000xi32>) {
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %0 = stablehlo.convert %one : (tensor<1xi64>) -> tensor<1xf32>
  %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<100000xf32>
  %3 = stablehlo.multiply %a, %2 : tensor<100000xf32>
  %two = stablehlo.constant dense<2.0> : tensor<100000xf32>
  %half = stablehlo.divide %2, %two : tensor<100000xf32>
  %4 = stablehlo.add %3, %half : tensor<100000xf32>
  %5 = stablehlo.iota dim = 0 : tensor<3xi32>
  %ones = stablehlo.constant dense<1> : tensor<3xi32>
  %6 = stablehlo.add %5, %ones : tensor<3xi32>
  %7 = stablehlo.iota dim = 0 : tensor<100000xi32>
  return %4, %6, %7 : tensor<100000xf32>, tensor<3xi32>, tensor<100000xi32>
}
