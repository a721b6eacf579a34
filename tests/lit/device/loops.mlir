// Steps of loops are programs of their own: numbers are computed together, and the tensor that is
// carried is updated in place.
// RUN: cupel opt %s --compile-to-device | FileCheck %s
// RUN: cupel opt %s --compile-to-device --expand-device-ir --expand-tensor-ir | FileCheck %s --check-prefix=AGAIN

// CHECK: dev.program @main.while
// CHECK: dev.program @main.do arena 64 attributes {in_place = array<i64: 1>}
// CHECK: tir.map
// CHECK: stablehlo.convert
// CHECK: stablehlo.add
// CHECK: stablehlo.compare
// CHECK-NOT: tir.map
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NOT: tir.map
// CHECK-NOT: stablehlo.while

// AGAIN: func.func @main
// AGAIN: stablehlo.while
func.func @main(%x: tensor<100xf32>) -> tensor<100xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<100xf32>
  cond {
    %n = stablehlo.constant dense<100> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %2 = stablehlo.reshape %1 : (tensor<f32>) -> tensor<1xf32>
    %3 = stablehlo.dynamic_update_slice %s, %2, %i : (tensor<100xf32>, tensor<1xf32>, tensor<i32>) -> tensor<100xf32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %3 : tensor<i32>, tensor<100xf32>
  }
  return %0#1 : tensor<100xf32>
}
