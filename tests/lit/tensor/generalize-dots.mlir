// Products of older exporters are the general ones, with all that is said of them; quantized ones stay what they are.
// RUN: cupel opt %s --generalize-dots | FileCheck %s
// RUN: cupel opt %s --generalize-dots --opt-bisect-limit=0 | FileCheck %s --check-prefix=OFF

// OFF-NOT: stablehlo.dot_general

// CHECK-LABEL: func.func @matrices
// CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] {cupel.note = 1 : i64} : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
func.func @matrices(%a: tensor<3x5xf32>, %b: tensor<5x2xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.dot %a, %b, precision = [HIGHEST, DEFAULT] {cupel.note = 1 : i64} : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @vectors
// CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<5xi32>, tensor<5xi32>) -> tensor<i32>
// CHECK: stablehlo.dot_general %arg2, %arg1, contracting_dims = [1] x [0] : (tensor<3x5xi32>, tensor<5xi32>) -> tensor<3xi32>
func.func @vectors(%a: tensor<5xi32>, %b: tensor<5xi32>, %c: tensor<3x5xi32>) -> (tensor<i32>, tensor<3xi32>) {
  %0 = stablehlo.dot %a, %b : (tensor<5xi32>, tensor<5xi32>) -> tensor<i32>
  %1 = stablehlo.dot %c, %b : (tensor<3x5xi32>, tensor<5xi32>) -> tensor<3xi32>
  return %0, %1 : tensor<i32>, tensor<3xi32>
}

// CHECK-LABEL: func.func @quantized
// CHECK: stablehlo.dot %arg0, %arg1
func.func @quantized(%a: tensor<3x5x!quant.uniform<i8:f32, 0.5>>, %b: tensor<5x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x2x!quant.uniform<i8:f32, 0.5>> {
  %0 = stablehlo.dot %a, %b : (tensor<3x5x!quant.uniform<i8:f32, 0.5>>, tensor<5x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x2x!quant.uniform<i8:f32, 0.5>>
  return %0 : tensor<3x2x!quant.uniform<i8:f32, 0.5>>
}
