// Complex numbers as pairs, and bytes in elements of another width, are the same memory: nothing is launched for them.
// RUN: cupel opt %s --lower-to-device | FileCheck %s
// RUN: cupel opt %s --lower-to-device --expand-device-ir | FileCheck %s --check-prefix=EXPANDED

// CHECK: dev.program @main
// CHECK: %[[A:.*]] = dev.argument 0
// CHECK: dev.as %[[A]] : !dev.buffer<tensor<4xcomplex<f32>>> to !dev.buffer<tensor<4x2xf32>>
// CHECK: dev.as {{.*}} : !dev.buffer<tensor<4x2xf32>> to !dev.buffer<tensor<4xi64>>
// CHECK: dev.launch
// CHECK-NEXT: ^bb0
// CHECK-NEXT: stablehlo.negate {{.*}} : tensor<4xi64>
// CHECK-NOT: dev.launch
// EXPANDED: stablehlo.bitcast_convert {{.*}} -> tensor<4xi64>
// EXPANDED: stablehlo.negate
// EXPANDED: stablehlo.bitcast_convert {{.*}} -> tensor<4x2xf32>
// EXPANDED: stablehlo.complex {{.*}} : tensor<4xcomplex<f32>>
func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = tir.as %x : (tensor<4xcomplex<f32>>) -> tensor<4x2xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<4x2xf32>) -> tensor<4xi64>
  %2 = stablehlo.negate %1 : tensor<4xi64>
  %3 = stablehlo.bitcast_convert %2 : (tensor<4xi64>) -> tensor<4x2xf32>
  %4 = tir.as %3 : (tensor<4x2xf32>) -> tensor<4xcomplex<f32>>
  return %4 : tensor<4xcomplex<f32>>
}
