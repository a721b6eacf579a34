// A program as launches on planned memory: what is read for the last time makes room, elements are
// written over in place, results are written where they are handed out.
// RUN: cupel opt %s --form-maps --lower-to-device | FileCheck %s

// CHECK: dev.program @main arena 512
// CHECK: %[[A:.*]] = dev.argument 0
// CHECK: %[[P:.*]] = dev.place 0 : !dev.buffer<tensor<64xf32>>
// CHECK: dev.launch(%[[A]]) to(%[[P]])
// CHECK: tir.map
// CHECK: %[[M:.*]] = dev.as %[[P]] : !dev.buffer<tensor<64xf32>> to !dev.buffer<tensor<8x8xf32>>
// CHECK: %[[Q:.*]] = dev.place 256
// CHECK: dev.launch(%[[M]]) to(%[[Q]])
// CHECK: stablehlo.cholesky
// In place: it is the last reader.
// CHECK: %[[S:.*]] = dev.place 256
// CHECK: dev.launch(%[[Q]], %[[A]]) to(%[[S]])
// CHECK: %[[R:.*]] = dev.result 0
// CHECK: dev.launch({{.*}}) to(%[[R]])
// An argument that is returned is copied.
// CHECK: %[[T:.*]] = dev.result 1
// CHECK: dev.launch(%[[A]]) to(%[[T]])
func.func @main(%a: tensor<64xf32>) -> (tensor<8x8xf32>, tensor<64xf32>) {
  %0 = stablehlo.multiply %a, %a : tensor<64xf32>
  %1 = stablehlo.reshape %0 : (tensor<64xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.cholesky %1, lower = true : tensor<8x8xf32>
  %3 = stablehlo.reshape %2 : (tensor<8x8xf32>) -> tensor<64xf32>
  %4 = stablehlo.add %3, %a : tensor<64xf32>
  %5 = stablehlo.reshape %4 : (tensor<64xf32>) -> tensor<8x8xf32>
  %6 = stablehlo.cholesky %5, lower = true : tensor<8x8xf32>
  return %6, %a : tensor<8x8xf32>, tensor<64xf32>
}
