// RUN: cupel opt %s --split-input-file --verify-diagnostics

// Ops that move elements without computing on them.

func.func @f(%a: tensor<2xf32>) {
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x4xui8>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2x4xui8>) -> tensor<?xi32>
  // expected-error@+1 {{'stablehlo.bitcast_convert' op the last dimension of 'tensor<2x2xui8>' must make up one element of 32 bits, but has 2 elements of 8 bits}}
  %2 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x2xui8>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.bitcast_convert' op operand and result must agree in dimension 0, but got 2 and 3}}
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<3xi32>
  return
}

// -----

func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.bitcast_convert' op the tensor of narrower elements must have one dimension more, but got 'tensor<f32>' and 'tensor<f64>'}}
  %0 = stablehlo.bitcast_convert %a : (tensor<f32>) -> tensor<f64>
  return
}

// -----

func.func @f(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.bitcast_convert' op cannot convert between real and complex elements, but got 'complex<f32>' and 'f64'}}
  %0 = stablehlo.bitcast_convert %a : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.broadcast' op broadcast_sizes must not be negative, but got [-1]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.broadcast %a, sizes = [-1] : (tensor<2xf32>) -> tensor<?x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.broadcast' op inferred type(s) 'tensor<3x2xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.broadcast %a, sizes = [3] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op broadcast_dimensions must have one entry per dimension of the operand, but got 2 entries for rank 1}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op broadcast_dimensions must not name a dimension twice, but got [0, 0]}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 0] : (tensor<2x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op broadcast_dimensions must name dimensions of the result, but 2 is outside [0, 2)}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [2] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op dimension 0 of the operand must have size 1 or the size of dimension 1 of the result, but has 2 for 3}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<5xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op dimension 0 of the operand must have size 1 or the size of dimension 0 of the result, but has 5 for <=4}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<5xf32>) -> tensor<?x3xf32, #stablehlo.bounds<4, ?>>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op operand and result must have the same element type, but got 'f32' and 'f64'}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf64>
  return
}

// -----

func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op the quantized dimension 0 of the operand must become the quantized dimension of the result, but that is 0}}
  %1 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {1.0, 2.0}>>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op result #0 must be statically shaped or single bounded dimension tensor}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2xf32>) -> tensor<2x?xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32>, %s: tensor<2xi64>) {
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] {known_expanding_dimensions = array<i64: 0>} : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // expected-error@+1 {{'stablehlo.dynamic_broadcast_in_dim' op known_expanding_dimensions and known_nonexpanding_dimensions together must not name a dimension twice, but got [0, 0]}}
  %1 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_broadcast_in_dim' op known_expanding_dimensions and known_nonexpanding_dimensions together must name dimensions of the operand, but 1 is outside [0, 1)}}
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] {known_nonexpanding_dimensions = array<i64: 1>} : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32>, %s: tensor<3xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_broadcast_in_dim' op output_dimensions must have one entry per dimension of the result, but got 3 entries for rank 2}}
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<?xf32>, tensor<3xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_broadcast_in_dim' op dimension 0 of the operand must have size 1 or the size of dimension 1 of the result, but has 3 for 4}}
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+2 {{'stablehlo.concatenate' op expects at least one input}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.concatenate"() {dimension = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2x1xf32>) {
  // expected-error@+2 {{'stablehlo.concatenate' op inputs must have one rank and element type, but got 'tensor<2xf32>' and 'tensor<2x1xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<2x1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  // expected-error@+2 {{'stablehlo.concatenate' op inputs must agree in all dimensions but 0, but dimension 1 has 3 and 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.concatenate' op dimension must name dimensions of the inputs, but 1 is outside [0, 1)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %a, dim = 1 : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<?x2xf32, #stablehlo.bounds<4, ?>>, %b: tensor<3x?xf32>, %c: tensor<?x2xf32>) {
  %0 = stablehlo.concatenate %a, %c, dim = 0 : (tensor<?x2xf32, #stablehlo.bounds<4, ?>>, tensor<?x2xf32>) -> tensor<100x2xf32>
  // expected-error@+2 {{'stablehlo.concatenate' op inferred type(s) 'tensor<?x2xf32, #stablehlo.bounds<7, ?>>' are incompatible with return type(s) of operation 'tensor<8x2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<?x2xf32, #stablehlo.bounds<4, ?>>, tensor<3x?xf32>) -> tensor<8x2xf32>
  return
}

// -----

func.func @f(%a: tensor<9223372036854775807xi8>) {
  // expected-error@+2 {{'stablehlo.concatenate' op the size of dimension 0 of the result does not fit in 64 bits}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<9223372036854775807xi8>, tensor<9223372036854775807xi8>) -> tensor<?xi8>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.reshape' op operand and result must have as many elements, but got 6 and 5}}
  %0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.reshape' op operand and result must have the same element type, but got 'f32' and 'i32'}}
  %0 = stablehlo.reshape %a : (tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  %0 = stablehlo.reshape %a : (tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<1x2x3x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  // expected-error@+1 {{'stablehlo.reshape' op as many elements must lie before, at and after the quantized dimension of operand and result}}
  %1 = stablehlo.reshape %a : (tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  return
}

// -----

func.func @f(%a: tensor<?x2xf32, #stablehlo.bounds<4, ?>>, %z: tensor<0x9223372036854775807xf32>) {
  %0 = stablehlo.reshape %a : (tensor<?x2xf32, #stablehlo.bounds<4, ?>>) -> tensor<?xf32, #stablehlo.bounds<8>>
  %1 = stablehlo.reshape %z : (tensor<0x9223372036854775807xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_reshape' op output_shape must have one entry per dimension of the result, but got 2 entries for rank 1}}
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<?xf32>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<?xf32>, tensor<2xi32>) -> tensor<2x?xf32>
  // expected-error@+1 {{'stablehlo.dynamic_reshape' op output_shape is the constant [2, 3], which does not fit the result type 'tensor<3x?xf32>'}}
  %1 = stablehlo.dynamic_reshape %a, %s : (tensor<?xf32>, tensor<2xi32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.reverse' op dimensions must name dimensions of the operand, but 1 is outside [0, 1)}}
  %0 = stablehlo.reverse %a, dims = [1] : tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.reverse' op dimensions must not name a dimension twice, but got [0, 0]}}
  %0 = stablehlo.reverse %a, dims = [0, 0] : tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{'stablehlo.transpose' op permutation must name every dimension of the operand exactly once, but got [0, 0] for rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{'stablehlo.transpose' op permutation must name every dimension of the operand exactly once, but got [1] for rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.transpose %a, dims = [1] : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<?x3xf32, #stablehlo.bounds<4, ?>>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x3xf32, #stablehlo.bounds<4, ?>>) -> tensor<?x2xf32>
  // expected-error@+2 {{'stablehlo.transpose' op inferred type(s) 'tensor<3x?xf32, #stablehlo.bounds<?, 4>>' are incompatible with return type(s) of operation 'tensor<3x5xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x3xf32, #stablehlo.bounds<4, ?>>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>
  // expected-error@+2 {{'stablehlo.transpose' op inferred type(s) 'tensor<3x2x!quant.uniform<i8:f32:1, {1.000000e+00,2.000000e+00}>>' are incompatible}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<3x2x!quant.uniform<i8:f32:0, {1.0, 2.0, 3.0}>>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.get_dimension_size' op dimension must name dimensions of the operand, but 1 is outside [0, 1)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<2xf32>) -> tensor<i32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %s: tensor<i32>) {
  // expected-error@+2 {{'stablehlo.set_dimension_size' op dimension must name dimensions of the operand, but 1 is outside [0, 1)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.set_dimension_size %a, %s, dim = 1 : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>, %s: tensor<i32>) {
  %0 = stablehlo.set_dimension_size %a, %s, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<4, ?>>
  // expected-error@+2 {{'stablehlo.set_dimension_size' op inferred type(s) 'tensor<?x2xf32, #stablehlo.bounds<4, ?>>' are incompatible with return type(s) of operation 'tensor<5x2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.set_dimension_size %a, %s, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.sort' op dimension must be in [-1, 1), but is 1}}
  %0:2 = "stablehlo.sort"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<i32>, %v: tensor<i32>):
    %p = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<2xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.sort' op region 'comparator' must take two arguments per input, but takes 2 for 2 inputs}}
  %0:2 = "stablehlo.sort"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %p = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<2xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.sort' op argument #1 of region 'comparator' must be a rank-0 tensor of 'f32', but is 'tensor<i32>'}}
  %0:2 = "stablehlo.sort"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %u: tensor<i32>, %y: tensor<f32>, %v: tensor<i32>):
    %p = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<2xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.sort' op region 'comparator' must return one tensor<i1>, but returns ('tensor<f32>')}}
  %0:2 = "stablehlo.sort"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<i32>, %v: tensor<i32>):
    stablehlo.return %x : tensor<f32>
  }) {dimension = 0 : i64} : (tensor<2xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.sort' op region 'comparator' must return one tensor<i1>, but returns ()}}
  %0:2 = "stablehlo.sort"(%a, %b) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<i32>, %v: tensor<i32>):
    "stablehlo.return"() : () -> ()
  }) {dimension = 0 : i64} : (tensor<2xf32>, tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}
