// What other compilers have a pattern each for, and what it is in tensor IR here, whatever passes formed it: activations are maps, norms and softmax are rows; biases, scales and
// activations stand behind products and convolutions; transposes are ways of reading.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace

// Relu.
// CHECK: func.func @main
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %0 = stablehlo.maximum %x, %z : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Relu6.
// CHECK: func.func @main
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %s = stablehlo.constant dense<6.0> : tensor<4x8xf32>
  %0 = stablehlo.maximum %x, %z : tensor<4x8xf32>
  %1 = stablehlo.minimum %0, %s : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Silu.
// CHECK: func.func @main
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.logistic %x : tensor<4x8xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Gelu by tanh.
// CHECK: func.func @main
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = stablehlo.constant dense<0.044715> : tensor<4x8xf32>
  %b = stablehlo.constant dense<0.797885> : tensor<4x8xf32>
  %h = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %o = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %0 = stablehlo.multiply %x, %x : tensor<4x8xf32>
  %1 = stablehlo.multiply %0, %x : tensor<4x8xf32>
  %2 = stablehlo.multiply %1, %a : tensor<4x8xf32>
  %3 = stablehlo.add %x, %2 : tensor<4x8xf32>
  %4 = stablehlo.multiply %3, %b : tensor<4x8xf32>
  %5 = stablehlo.tanh %4 : tensor<4x8xf32>
  %6 = stablehlo.add %5, %o : tensor<4x8xf32>
  %7 = stablehlo.multiply %x, %6 : tensor<4x8xf32>
  %8 = stablehlo.multiply %7, %h : tensor<4x8xf32>
  return %8 : tensor<4x8xf32>
}

// -----

// Hardsigmoid.
// CHECK: func.func @main
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %t = stablehlo.constant dense<3.0> : tensor<4x8xf32>
  %s = stablehlo.constant dense<6.0> : tensor<4x8xf32>
  %z = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %i = stablehlo.constant dense<0.1666667> : tensor<4x8xf32>
  %0 = stablehlo.add %x, %t : tensor<4x8xf32>
  %1 = stablehlo.maximum %0, %z : tensor<4x8xf32>
  %2 = stablehlo.minimum %1, %s : tensor<4x8xf32>
  %3 = stablehlo.multiply %2, %i : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Mish.
// CHECK: func.func @main
// CHECK: = tir.map
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.exponential %x : tensor<4x8xf32>
  %1 = stablehlo.log_plus_one %0 : tensor<4x8xf32>
  %2 = stablehlo.tanh %1 : tensor<4x8xf32>
  %3 = stablehlo.multiply %x, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Softmax, plain.
// CHECK: func.func @main
// CHECK: = tir.row
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<4x8xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.divide %0, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Softmax, stable.
// CHECK: func.func @main
// CHECK: = tir.row
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %a = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %b = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %c = stablehlo.subtract %x, %b : tensor<4x8xf32>
  %0 = stablehlo.exponential %c : tensor<4x8xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.divide %0, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Rms_norm.
// CHECK: func.func @main
// CHECK: = tir.row
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<0.125> : tensor<4xf32>
  %e = stablehlo.constant dense<1.0e-5> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %x : tensor<4x8xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.multiply %1, %n : tensor<4xf32>
  %3 = stablehlo.add %2, %e : tensor<4xf32>
  %4 = stablehlo.rsqrt %3 : tensor<4xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.multiply %x, %5 : tensor<4x8xf32>
  %7 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %8 = stablehlo.multiply %6, %7 : tensor<4x8xf32>
  return %8 : tensor<4x8xf32>
}

// -----

// Sum times scale to mean.
// CHECK: func.func @main
// CHECK: = tir.row
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<0.125> : tensor<4xf32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.multiply %1, %n : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Matmul and bias.
// CHECK: func.func @main
// CHECK: = tir.product
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %c: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Permute and matmul.
// CHECK: func.func @main
// CHECK: = tir.product
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<6x4xf32>, %w: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Matmuls that share a left side.
// CHECK: func.func @main
// CHECK: = tir.product
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: = tir.product
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<4x6xf32>, %v: tensor<6x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Convolution and bias.
// CHECK: func.func @main
// CHECK: = tir.convolution
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<1x6x6x4xf32>, %f: tensor<3x3x4x8xf32>, %c: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x4x4x8xf32>
  return %2 : tensor<1x4x4x8xf32>
}

// -----

// Convolution times scale, as batch norm leaves it.
// CHECK: func.func @main
// CHECK: = tir.convolution
// CHECK-NOT: {{^    %.* = "?(tir|stablehlo)\.}}
// CHECK: return
func.func @main(%x: tensor<1x6x6x4xf32>, %f: tensor<3x3x4x8xf32>, %s: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<1x4x4x8xf32> {
  %0 = stablehlo.convolution(%x, %f) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x6x6x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<1x4x4x8xf32>
  %3 = stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<8xf32>) -> tensor<1x4x4x8xf32>
  %4 = stablehlo.add %2, %3 : tensor<1x4x4x8xf32>
  return %4 : tensor<1x4x4x8xf32>
}
