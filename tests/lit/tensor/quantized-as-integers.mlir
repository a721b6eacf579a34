// Quantized types are written out on the integers that are stored, with the golden reference's roundings.
// RUN: cupel opt %s --quantized-as-integers --split-input-file | FileCheck %s

// Divided, moved, no number is 0, clamped, rounded to even; arguments and results are what is stored.
// CHECK-LABEL: func.func @main(%arg0: tensor<2x2xf32>) -> tensor<2x2xui8>
// CHECK: stablehlo.divide %arg0
// CHECK: stablehlo.add
// CHECK: stablehlo.compare  NE
// CHECK: stablehlo.select
// CHECK: stablehlo.maximum
// CHECK: stablehlo.minimum
// CHECK: stablehlo.round_nearest_even
// CHECK: stablehlo.convert {{.*}} -> tensor<2x2xui8>
// CHECK-NOT: quant.uniform
func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<u8:f32, 0.5:3>> {
  %0 = stablehlo.uniform_quantize %a : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<u8:f32, 0.5:3>>
  return %0 : tensor<2x2x!quant.uniform<u8:f32, 0.5:3>>
}

// -----

// One scale and zero point for each row; moves move what is stored.
// CHECK-LABEL: func.func @main(%arg0: tensor<2x3xi8>) -> tensor<3x2xf32>
// CHECK: %[[MOVED:.*]] = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xi8>) -> tensor<3x2xi8>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[MOVED]] : (tensor<3x2xi8>) -> tensor<3x2xi32>
// CHECK: stablehlo.constant dense<[1, -2]> : tensor<2xi32>
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1]
// CHECK: stablehlo.subtract %[[WIDE]]
// CHECK: stablehlo.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
// CHECK: stablehlo.multiply
func.func @main(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5:1, 0.25:-2}>>) -> tensor<3x2xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5:1, 0.25:-2}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5:1, 0.25:-2}>>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<3x2x!quant.uniform<i8:f32:1, {0.5:1, 0.25:-2}>>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// -----

// Sums of integers, scaled and cut off; what the left zero point adds is cut off by itself.
// CHECK-LABEL: func.func @main
// CHECK: %[[SUMS:.*]] = stablehlo.dot_general {{.*}} -> tensor<2x3xi32>
// CHECK: %[[COLUMNS:.*]] = stablehlo.reduce
// CHECK: %[[TIMES:.*]] = stablehlo.multiply %[[COLUMNS]]
// CHECK: %[[OFFSETS:.*]] = stablehlo.broadcast_in_dim %[[TIMES]], dims = [1] : (tensor<3xi32>) -> tensor<2x3xi32>
// CHECK: stablehlo.add %[[SUMS]], %[[OFFSETS]]
// CHECK: stablehlo.subtract
// CHECK: stablehlo.maximum
// CHECK: stablehlo.minimum
func.func @main(%a: tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>, %b: tensor<4x3x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0>> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x3x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0>>
  return %0 : tensor<2x3x!quant.uniform<i8:f32, 1.0>>
}

// -----

// A result with a zero point: through real numbers, which later passes make a sum of integers of again.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.dot_general {{.*}} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK: stablehlo.round_nearest_even
func.func @main(%a: tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>, %b: tensor<4x3x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0:7>> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>, tensor<4x3x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0:7>>
  return %0 : tensor<2x3x!quant.uniform<i8:f32, 1.0:7>>
}

// -----

// Both sides of a sum are rounded in the scale of the result; products are computed as real numbers; the larger one is stored as it is.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: stablehlo.round_nearest_even
// CHECK: stablehlo.add {{.*}} : tensor<4xi32>
// CHECK: stablehlo.multiply {{.*}} : tensor<4xf32>
// CHECK: stablehlo.maximum {{.*}} : tensor<4xi8>
func.func @main(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>> {
  %0 = stablehlo.add %a, %b : tensor<4x!quant.uniform<i8:f32, 0.5>>
  %1 = stablehlo.multiply %0, %b : tensor<4x!quant.uniform<i8:f32, 0.5>>
  %2 = stablehlo.maximum %1, %a : tensor<4x!quant.uniform<i8:f32, 0.5>>
  return %2 : tensor<4x!quant.uniform<i8:f32, 0.5>>
}

// -----

// A function that holds something else on quantized types, or other ones, is left as it is.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.uniform_dequantize
// CHECK: stablehlo.uniform_dequantize
func.func @main(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i4:f32, 0.5>>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.uniform_dequantize %a : (tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4xf32>
  %1 = stablehlo.uniform_dequantize %b : (tensor<4x!quant.uniform<i4:f32, 0.5>>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
