// What is computed in types that a device lacks is rounded to the nearest it has.
// RUN: cupel opt %s --round-to-types="types=i1,i32,ui32,bf16,f32" --split-input-file | FileCheck %s
// RUN: cupel opt %s --round-to-types="types=i32,bf16" --split-input-file | FileCheck %s --check-prefix=NARROW
// RUN: not cupel opt %s --round-to-types="types=f33" --split-input-file 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: 'f33' is no element type

// Arguments of the entry function are rounded, and what is computed; values that are handed on are not again.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = stablehlo.convert %arg0 : (tensor<4xf64>) -> tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = stablehlo.convert %[[A]] : (tensor<4xf32>) -> tensor<4xf64>
// CHECK-NEXT: %[[C:.*]] = stablehlo.reshape %[[B]]
// CHECK-NEXT: %[[D:.*]] = stablehlo.add %[[C]], %[[C]]
// CHECK-NEXT: %[[E:.*]] = stablehlo.convert %[[D]] : (tensor<2x2xf64>) -> tensor<2x2xf32>
// CHECK-NEXT: %[[F:.*]] = stablehlo.convert %[[E]] : (tensor<2x2xf32>) -> tensor<2x2xf64>
// CHECK-NEXT: return %[[F]]
func.func @main(%a: tensor<4xf64>) -> tensor<2x2xf64> {
  %0 = stablehlo.reshape %a : (tensor<4xf64>) -> tensor<2x2xf64>
  %1 = stablehlo.add %0, %0 : tensor<2x2xf64>
  return %1 : tensor<2x2xf64>
}

// -----

// bf16 and f32 hold what is in an f16 between them: f32 does. i8 fits into i32; unsigned numbers have types of their own,
// and where there are none they are left alone. Bits are not numbers.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: stablehlo.add %arg0, %arg0 : tensor<f16>
// CHECK-NEXT: stablehlo.add %arg1, %arg1 : tensor<i8>
// CHECK-NEXT: stablehlo.constant
// CHECK-NEXT: stablehlo.convert %{{.*}} : (tensor<ui64>) -> tensor<ui32>
// CHECK: stablehlo.rng_bit_generator
// CHECK-NEXT: return
// NARROW-LABEL: func.func @main
// NARROW: stablehlo.convert %arg0 : (tensor<f16>) -> tensor<bf16>
// NARROW-NOT: tensor<ui32>
// NARROW: return
func.func @main(%a: tensor<f16>, %b: tensor<i8>) -> (tensor<f16>, tensor<i8>, tensor<ui64>, tensor<2xui64>) {
  %0 = stablehlo.add %a, %a : tensor<f16>
  %1 = stablehlo.add %b, %b : tensor<i8>
  %2 = stablehlo.constant dense<3> : tensor<ui64>
  %state = stablehlo.iota dim = 0 : tensor<2xui64>
  %3, %4 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>)
  return %0, %1, %2, %3 : tensor<f16>, tensor<i8>, tensor<ui64>, tensor<2xui64>
}

// -----

// Bodies of loops are rounded; a reduction's steps are not, its result is. Parts of complex numbers are floats.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: %[[S:.*]] = stablehlo.multiply
// CHECK-NEXT: stablehlo.convert %[[S]] : (tensor<4xf64>) -> tensor<4xf32>
// CHECK: %[[R:.*]] = stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add
// CHECK-NEXT: stablehlo.convert %[[R]] : (tensor<f64>) -> tensor<f32>
// CHECK: %[[Z:.*]] = stablehlo.complex
// CHECK-NEXT: stablehlo.convert %[[Z]] : (tensor<complex<f64>>) -> tensor<complex<f32>>
// NARROW: %[[Z:.*]] = stablehlo.complex
// NARROW-NEXT: %[[RE:.*]] = stablehlo.real %[[Z]]
// NARROW-NEXT: %[[IM:.*]] = stablehlo.imag %[[Z]]
// NARROW-NEXT: stablehlo.convert %[[RE]] : (tensor<f64>) -> tensor<bf16>
// NARROW: stablehlo.convert %[[IM]] : (tensor<f64>) -> tensor<bf16>
// NARROW: %[[Y:.*]] = stablehlo.complex
// NARROW-NEXT: return %[[Y]]
func.func @main(%x: tensor<4xf64>) -> tensor<complex<f64>> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%k = %i, %v = %x) : tensor<i32>, tensor<4xf64>
  cond {
    %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %k1 = stablehlo.add %k, %one : tensor<i32>
    %v1 = stablehlo.multiply %v, %v : tensor<4xf64>
    stablehlo.return %k1, %v1 : tensor<i32>, tensor<4xf64>
  }
  %s = stablehlo.reduce(%r#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  %z = stablehlo.complex %s, %s : tensor<complex<f64>>
  return %z : tensor<complex<f64>>
}
