// The bodies of functions and composites stand where they are called, and functions that nobody calls any more are gone.
// RUN: cupel opt %s --inline-calls --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: module @calls
// CHECK-NEXT: func.func @main(%arg0: tensor<f32>)
// CHECK-NEXT: %[[A:.*]] = stablehlo.negate %arg0
// CHECK-NEXT: %[[B:.*]] = stablehlo.add %[[A]], %[[A]]
// CHECK-NEXT: %[[C:.*]] = stablehlo.negate %[[B]]
// CHECK-NEXT: return %[[C]]
// CHECK-NOT: func.func
module @calls {
  func.func @main(%a: tensor<f32>) -> tensor<f32> {
    %0 = call @outer(%a) : (tensor<f32>) -> tensor<f32>
    %1 = stablehlo.composite "my.negate" %0 {decomposition = @negate} : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @outer(%a: tensor<f32>) -> tensor<f32> {
    %0 = call @negate(%a) : (tensor<f32>) -> tensor<f32>
    %1 = stablehlo.add %0, %0 : tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @negate(%a: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.negate %a : tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// expected-error @+1 {{its calls cannot be put in line: one calls itself or is only declared, or there are too many}}
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @elsewhere(%a) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @elsewhere(tensor<f32>) -> tensor<f32>
