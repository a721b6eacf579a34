// Complex numbers are computed as pairs of real ones, and read and moved where they lie.
// RUN: cupel opt %s --complex-as-pairs | FileCheck %s
// RUN: cupel opt %s --complex-as-pairs --expand-tensor-ir | FileCheck %s --check-prefix=EXPANDED

// Parts that are there are multiplied as they are: nobody makes complex numbers of them.
// CHECK-LABEL: func.func @parts
// CHECK-NOT: complex
// CHECK: %[[A:.*]] = stablehlo.multiply %arg0, %arg1
// CHECK: %[[B:.*]] = stablehlo.multiply %arg1, %arg0
// CHECK: stablehlo.subtract %[[A]], %[[B]]
// CHECK: return
func.func @parts(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.complex %x, %y : tensor<4xcomplex<f32>>
  %1 = stablehlo.complex %y, %x : tensor<4xcomplex<f32>>
  %2 = stablehlo.multiply %0, %1 : tensor<4xcomplex<f32>>
  %3 = stablehlo.real %2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Parts of what lies in memory are read there, and what is handed out is two numbers side by side.
// CHECK-LABEL: func.func @memory
// CHECK: %[[P:.*]] = tir.as %arg0 : (tensor<4xcomplex<f32>>) -> tensor<4x2xf32>
// CHECK: stablehlo.slice %[[P]] [0:4, 0:1]
// CHECK: stablehlo.slice %[[P]] [0:4, 1:2]
// CHECK: stablehlo.negate {{.*}} : tensor<4xf32>
// CHECK: stablehlo.negate {{.*}} : tensor<4xf32>
// CHECK: %[[C:.*]] = stablehlo.concatenate {{.*}} dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
// CHECK: tir.as %[[C]] : (tensor<4x2xf32>) -> tensor<4xcomplex<f32>>
// EXPANDED-LABEL: func.func @memory
// EXPANDED: stablehlo.real %arg0
// EXPANDED: stablehlo.imag %arg0
// EXPANDED: stablehlo.complex
// EXPANDED-NOT: tir.
func.func @memory(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.negate %x : tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// CHECK-LABEL: func.func @moves
// CHECK: %[[P:.*]] = tir.as %arg0 : (tensor<4x3xcomplex<f64>>) -> tensor<4x3x2xf64>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[P]], dims = [1, 0, 2]
// CHECK: tir.as %[[T]] : (tensor<3x4x2xf64>) -> tensor<3x4xcomplex<f64>>
func.func @moves(%x: tensor<4x3xcomplex<f64>>) -> tensor<3x4xcomplex<f64>> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x3xcomplex<f64>>) -> tensor<3x4xcomplex<f64>>
  return %0 : tensor<3x4xcomplex<f64>>
}

// Magnitudes of f32 are computed in f64, where no square is too large; of f64 they stay, and so do quotients and functions.
// CHECK-LABEL: func.func @magnitudes
// CHECK: stablehlo.sqrt {{.*}} : tensor<4xf64>
// CHECK: stablehlo.select
// CHECK: stablehlo.divide {{.*}} : tensor<4xcomplex<f32>>
// CHECK: stablehlo.abs {{.*}} : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
func.func @magnitudes(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f64>>) -> (tensor<4xf32>, tensor<4xcomplex<f32>>, tensor<4xf64>) {
  %0 = stablehlo.abs %x : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %1 = stablehlo.divide %x, %x : tensor<4xcomplex<f32>>
  %2 = stablehlo.abs %y : (tensor<4xcomplex<f64>>) -> tensor<4xf64>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xcomplex<f32>>, tensor<4xf64>
}

// CHECK-LABEL: func.func @products
// Sums that are rounded before they are subtracted have lost what the reference still sees.
// CHECK: stablehlo.dot_general {{.*}} -> tensor<4x4xcomplex<f32>>
// CHECK: stablehlo.reduce({{.*}} applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
func.func @products(%x: tensor<4x3xcomplex<f32>>) -> (tensor<4x4xcomplex<f32>>, tensor<4xcomplex<f32>>) {
  %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<4x3xcomplex<f32>>, tensor<4x3xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
  return %0, %1 : tensor<4x4xcomplex<f32>>, tensor<4xcomplex<f32>>
}
