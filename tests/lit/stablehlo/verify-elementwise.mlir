// RUN: cupel opt %s --split-input-file --verify-diagnostics

// Iota and ops that work element by element.

func.func @f() {
  // expected-error@+1 {{'stablehlo.iota' op iota_dimension must name dimensions of the result, but 1 is outside [0, 1)}}
  %0 = stablehlo.iota dim = 1 : tensor<4xi32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{'stablehlo.iota' op result must have a dimension to count along, but is 'tensor<i32>'}}
  %0 = stablehlo.iota dim = 0 : tensor<i32>
  return
}

// -----

func.func @f(%s: tensor<1xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_iota' op output_shape must have one entry per dimension of the result, but got 1 entries for rank 2}}
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<4x?xf32>
  return
}

// -----

func.func @f() {
  %s = stablehlo.constant dense<[3]> : tensor<1xi64>
  // expected-error@+1 {{'stablehlo.dynamic_iota' op output_shape is the constant [3], which does not fit the result type 'tensor<4xf32>'}}
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%s: tensor<2xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_iota' op iota_dimension must name dimensions of the result, but 2 is outside [0, 2)}}
  %0 = stablehlo.dynamic_iota %s, dim = 2 : (tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%s: tensor<1xi64>, %t: tensor<2xindex>) {
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
  %1 = stablehlo.dynamic_iota %t, dim = 1 : (tensor<2xindex>) -> tensor<2x?xi8>
  return
}

// -----

func.func @f(%a: tensor<2xcomplex<f32>>) {
  %0 = stablehlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %1 = stablehlo.real %a : (tensor<2xcomplex<f32>>) -> tensor<?xf32>
  %2 = stablehlo.imag %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  // expected-error@+2 {{'stablehlo.abs' op inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<2xf64>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %3 = stablehlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #stablehlo.bounds<4>>) {
  %0 = stablehlo.is_finite %a : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<3xi1>
  // expected-error@+2 {{'stablehlo.is_finite' op inferred type(s) 'tensor<?xi1, #stablehlo.bounds<4>>' are incompatible with return type(s) of operation 'tensor<5xi1>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.is_finite %a : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<5xi1>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.uniform_quantize' op operand and result must express the same float type, but got 'f32' and 'f16'}}
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f16, 1.0>>
  return
}

// -----

func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 1.0:3>>) {
  %0 = stablehlo.uniform_quantize %a : (tensor<2x!quant.uniform<i8:f32, 1.0:3>>) -> tensor<2x!quant.uniform<i32:f32:0, {2.0, 3.0}>>
  return
}

// -----

func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 1.0:3>>) {
  // expected-error@+2 {{'stablehlo.uniform_dequantize' op inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<2xf64>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.uniform_dequantize %a : (tensor<2x!quant.uniform<i8:f32, 1.0:3>>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.uniform_quantize' op result #0 must be ranked tensor of per-tensor integer quantized type or per-axis integer quantized type values}}
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {2.0, 3.0, 4.0}>>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.uniform_quantize' op result #0 must be ranked tensor of per-tensor integer quantized type or per-axis integer quantized type values}}
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:1, {2.0, 3.0}>>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error@+1 {{'stablehlo.add' op requires one element type for all operands and results (up to scales and zero points), but got 'f32' and 'f64'}}
  %0 = stablehlo.add %a, %b : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<?x2xf32>, %b: tensor<3x?xf32>) {
  %0 = stablehlo.add %a, %b : (tensor<?x2xf32>, tensor<3x?xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.add %a, %b : (tensor<?x2xf32>, tensor<3x?xf32>) -> tensor<?x?xf32>
  // expected-error@+1 {{'stablehlo.add' op all non-scalar operands/results must have the same shape and base type}}
  %2 = stablehlo.add %a, %b : (tensor<?x2xf32>, tensor<3x?xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 1.0:3>>, %b: tensor<2x!quant.uniform<i8:f32:0, {2.0, 3.0}>>) {
  %0 = stablehlo.add %a, %b : (tensor<2x!quant.uniform<i8:f32, 1.0:3>>, tensor<2x!quant.uniform<i8:f32:0, {2.0, 3.0}>>) -> tensor<2x!quant.uniform<i8:f32:0, {4.0, 5.0}>>
  return
}

// -----

func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 1.0:3>>, %b: tensor<2x!quant.uniform<i8:f32, 2.0>>) {
  // expected-error@+1 {{'stablehlo.add' op result must be quantized per axis exactly if an operand is}}
  %0 = stablehlo.add %a, %b : (tensor<2x!quant.uniform<i8:f32, 1.0:3>>, tensor<2x!quant.uniform<i8:f32, 2.0>>) -> tensor<2x!quant.uniform<i8:f32:0, {4.0, 5.0}>>
  return
}

// -----

func.func @f(%a: tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) {
  // expected-error@+1 {{'stablehlo.add' op operands and result must be quantized along one dimension, but got 1 and 0}}
  %0 = stablehlo.add %a, %a : (tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>, tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {4.0, 5.0}>>
  return
}

// -----

func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 1.0:3>>) {
  // expected-error@+1 {{'stablehlo.add' op requires one element type for all operands and results (up to scales and zero points), but got '!quant.uniform<i8:f32, 1.000000e+00:3>' and 'f32'}}
  %0 = stablehlo.add %a, %a : (tensor<2x!quant.uniform<i8:f32, 1.0:3>>, tensor<2x!quant.uniform<i8:f32, 1.0:3>>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.multiply' op all non-scalar operands/results must have the same shape and base type}}
  %0 = "stablehlo.multiply"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %0 = stablehlo.complex %a, %b : tensor<2xcomplex<f32>>
  // expected-error@+2 {{'stablehlo.complex' op inferred type(s) 'tensor<2xcomplex<f32>>' are incompatible with return type(s) of operation 'tensor<2xcomplex<f64>>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = "stablehlo.complex"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.compare' op requires one element type for both operands, but got 'f32' and 'i32'}}
  %0 = stablehlo.compare LT, %a, %b : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<?xf32>) {
  %0 = stablehlo.compare LT, %b, %a, TOTALORDER : (tensor<?xf32>, tensor<2xf32>) -> tensor<?xi1>
  // expected-error@+1 {{'stablehlo.compare' op all non-scalar operands/results must have the same shape and base type}}
  %1 = stablehlo.compare LT, %a, %b : (tensor<2xf32>, tensor<?xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @f(%a: tensor<f32>, %x: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  %0 = stablehlo.clamp %a, %x, %a : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  // expected-error@+2 {{'stablehlo.clamp' op max must be a scalar or have the shape of the operand, but got 'tensor<3x2xf32>' for 'tensor<2x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<f64>, %x: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.clamp' op min must have the element type of the operand, but got 'tensor<f64>' for 'tensor<2x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.clamp %a, %x, %b : (tensor<f64>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%p: tensor<3xi1>, %a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.select' op pred must be a scalar or have the shape of on_true, but got 'tensor<3xi1>' for 'tensor<2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.select %p, %a, %a : tensor<3xi1>, tensor<2xf32>
  return
}

// -----

func.func @f(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.select' op on_true and on_false must have compatible types, but got 'tensor<2xf32>' and 'tensor<3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.select %p, %a, %b : (tensor<i1>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%p: tensor<i1>, %a: tensor<?xf32, #stablehlo.bounds<4>>, %b: tensor<?xf32, #stablehlo.bounds<3>>) {
  // expected-error@+2 {{'stablehlo.select' op inferred type(s) 'tensor<?xf32, #stablehlo.bounds<3>>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.select %p, %a, %b : (tensor<i1>, tensor<?xf32, #stablehlo.bounds<4>>, tensor<?xf32, #stablehlo.bounds<3>>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{'stablehlo.map' op dimensions must name every dimension of the inputs in order, but got [1, 0] for rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.map' op region 'computation' must take one argument per input, but takes 2 for 1 inputs}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.map' op argument #0 of region 'computation' must be a rank-0 tensor of 'f32', but is 'tensor<2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<2xf32>):
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.map' op region 'computation' must return one rank-0 tensor, but returns ('tensor<f32>', 'tensor<f32>')}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x, %x : tensor<f32>, tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.map' op inferred type(s) 'tensor<2xi32>' are incompatible with return type(s) of operation 'tensor<2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.map"(%a) ({
  ^bb0(%x: tensor<f32>):
    %1 = stablehlo.convert %x : (tensor<f32>) -> tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
