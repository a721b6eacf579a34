// A device program as a function again.
// RUN: cupel opt %s --form-maps --lower-to-device --expand-device-ir | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<64xf32>) -> (tensor<8x8xf32>, tensor<64xf32>)
// CHECK: tir.map(%arg0)
// CHECK: stablehlo.cholesky
// CHECK: return %{{.*}}, %arg0
// CHECK-NOT: dev.
func.func @main(%a: tensor<64xf32>) -> (tensor<8x8xf32>, tensor<64xf32>) {
  %0 = stablehlo.multiply %a, %a : tensor<64xf32>
  %1 = stablehlo.reshape %0 : (tensor<64xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.cholesky %1, lower = true : tensor<8x8xf32>
  return %2, %a : tensor<8x8xf32>, tensor<64xf32>
}
