// Constants of main become arguments, except those that decide a shape.
// RUN: cupel opt %s --hoist-constants --split-input-file --allow-unregistered-dialect | FileCheck %s

// CHECK: module attributes {cupel.hoisted_constants = [dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>, dense<3.000000e+00> : tensor<2xf32>]}
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<2xf32>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>)
// CHECK-NEXT: %[[A:.*]] = stablehlo.add %arg0, %arg1
// CHECK-NEXT: %[[B:.*]] = stablehlo.multiply %[[A]], %arg2
// CHECK-NEXT: return %[[B]]
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = func.call @inputs() : () -> tensor<2xf32>
  %unused = stablehlo.constant dense<7> : tensor<i32>
  %2 = stablehlo.add %a, %0 : tensor<2xf32>
  %3 = stablehlo.multiply %2, %1 : tensor<2xf32>
  return %3 : tensor<2xf32>
}
func.func private @inputs() -> tensor<2xf32> {
  %0 = stablehlo.constant dense<3.0> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK: cupel.hoisted_constants = []
// CHECK: stablehlo.dynamic_reshape
func.func @main(%a: tensor<4xf32>) -> tensor<?x?xf32> {
  %0 = stablehlo.constant dense<1> : tensor<2xi32>
  %1 = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %2 = stablehlo.add %0, %1 : tensor<2xi32>
  %3 = stablehlo.dynamic_reshape %a, %2 : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %3 : tensor<?x?xf32>
}

// -----

// CHECK: cupel.hoisted_constants = []
// CHECK: stablehlo.constant {my.sharding = "x"}
func.func @main() -> tensor<2xf32> {
  %0 = stablehlo.constant {my.sharding = "x"} dense<1.0> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
