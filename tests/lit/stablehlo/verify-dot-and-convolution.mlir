// RUN: cupel opt %s --split-input-file --verify-diagnostics

// Dot products and convolutions.

func.func @f(%a: tensor<3xi64>, %b: tensor<4xi64>) {
  // expected-error@+1 {{'stablehlo.dot' op the last dimension of lhs must have the size of the first dimension of rhs, but got 3 and 4}}
  %0 = stablehlo.dot %a, %b : (tensor<3xi64>, tensor<4xi64>) -> tensor<i64>
  return
}

// -----

func.func @f(%a: tensor<3x1x1xi64>, %b: tensor<3xi64>) {
  // expected-error@+1 {{'stablehlo.dot' op operands must be vectors or matrices, but got 'tensor<3x1x1xi64>' and 'tensor<3xi64>'}}
  %0 = stablehlo.dot %a, %b : (tensor<3x1x1xi64>, tensor<3xi64>) -> tensor<i64>
  return
}

// -----

func.func @f(%a: tensor<2x3xi64>, %b: tensor<3x?xi64>) {
  %0 = stablehlo.dot %a, %b : (tensor<2x3xi64>, tensor<3x?xi64>) -> tensor<2x9xi64>
  // expected-error@+1 {{'stablehlo.dot' op result must be compatible with 'tensor<2x?xi64>', but is 'tensor<3x9xi64>'}}
  %1 = stablehlo.dot %a, %b : (tensor<2x3xi64>, tensor<3x?xi64>) -> tensor<3x9xi64>
  return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.dot' op precision_config must have at most 2 entries (lhs and rhs), but has 3}}
  %0 = "stablehlo.dot"(%a, %a) {precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf64>
  return
}

// -----

func.func @f(%a: tensor<5x2x?xf32>, %b: tensor<?x5x4xf32>) {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<5x2x?xf32>, tensor<?x5x4xf32>) -> tensor<5x?x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op result must be compatible with 'tensor<2x4xf32>', but is 'tensor<4x2xf32>'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%a: tensor<?x3xf32, #stablehlo.bounds<2, ?>>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op result must be compatible with 'tensor<?x4xf32, #stablehlo.bounds<2, ?>>', but is 'tensor<3x4xf32>'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<?x3xf32, #stablehlo.bounds<2, ?>>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op contracting dimensions must have the same size, but dimension 1 of lhs has 3 and dimension 1 of rhs has 4}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op lhs and rhs must have as many contracting dimensions, but got [1] and []}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op batching dimensions must have the same size, but dimension 0 of lhs has 2 and dimension 0 of rhs has 3}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op lhs_batching_dimensions and lhs_contracting_dimensions must name dimensions of lhs, but 2 is outside [0, 2)}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op rhs_batching_dimensions and rhs_contracting_dimensions must not name a dimension twice, but got [0, 0]}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op precision_config must be DEFAULT where an algorithm is given, but is [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>]}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGH, HIGH], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f8E5M2, rhs_precision_type = f8E4M3FN, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{dot algorithm is not a known one: 'bf16' x 'bf16' -> 'f32' with 4 primitive operations}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 4, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{dot algorithm is not a known one: 'f32' x 'f64' -> 'f32' with 1 primitive operations}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f32, rhs_precision_type = f64, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{dot algorithm must have component counts of 1, but got 2 and 1}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f32, lhs_component_count = 2, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x4x!quant.uniform<i8:f32, 1.0>>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3x!quant.uniform<i8:f32, 1.0>>, tensor<3x4x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i32:f32, 1.0>>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2x!quant.uniform<i8:f32:1, {1.0, 2.0}>>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op quantized products need a quantized rhs, and lhs and result both quantized or neither}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32, 1.0>>
  return
}

// -----

func.func @f(%a: tensor<2x3xf64>, %b: tensor<3x4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op lhs, rhs and result must express the same float type, but got 'f64' and '!quant.uniform<i8:f32, 1.000000e+00>' giving 'f64'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf64>, tensor<3x4x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x4xf64>
  return
}

// -----

func.func @f(%a: tensor<2x3x!quant.uniform<i4:f32, 1.0>>, %b: tensor<3x4x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op lhs and rhs must be stored alike}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3x!quant.uniform<i4:f32, 1.0>>, tensor<3x4x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x4x!quant.uniform<i32:f32, 1.0>>
  return
}

// -----

func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x2x!quant.uniform<i8:f32, 1.0>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op result must be quantized per tensor if rhs is}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3x!quant.uniform<i8:f32, 1.0>>, tensor<3x2x!quant.uniform<i8:f32, 1.0>>) -> tensor<2x2x!quant.uniform<i32:f32:1, {1.0, 2.0}>>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>, %b: tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op rhs must not be quantized along a contracting dimension}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x4x!quant.uniform<i8:f32:0, {1.0, 2.0}>>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4x!quant.uniform<i8:f32, 1.0:5>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op zero points of rhs must be 0, but got '!quant.uniform<i8:f32, 1.000000e+00:5>'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4x!quant.uniform<i8:f32, 1.0:5>>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x3x15x16xf32>
  return
}

// -----

func.func @f(%a: tensor<?x?x8x207xf32, #stablehlo.bounds<4, 8, ?, ?>>, %b: tensor<3x3x207x16xf32>) {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x?x8x207xf32, #stablehlo.bounds<4, 8, ?, ?>>, tensor<3x3x207x16xf32>) -> tensor<4x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<2x207xf32>, %b: tensor<207x16xf32>) {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x207xf32>, tensor<207x16xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op result must be compatible with 'tensor<1x6x6x16xf32>', but is 'tensor<1x6x7x16xf32>'}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x7x16xf32>
  return
}

// -----

func.func @f(%a: tensor<?x?x8x207xf32, #stablehlo.bounds<4, 8, ?, ?>>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op result must be compatible with 'tensor<?x?x6x16xf32, #stablehlo.bounds<4, 6, ?, ?>>', but is 'tensor<4x7x6x16xf32>'}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x?x8x207xf32, #stablehlo.bounds<4, 8, ?, ?>>, tensor<3x3x207x16xf32>) -> tensor<4x7x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op lhs, rhs and result must have one rank of 2 or more}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension_numbers must name every dimension of the lhs exactly once, but name [0, 1, 2] for rank 4}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x207xf32>, %b: tensor<3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension_numbers must name every dimension of the lhs exactly once, but name [0, 0, 1] for rank 3}}
  %0 = "stablehlo.convolution"(%a, %b) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 0, input_spatial_dimensions = [1], kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2, kernel_spatial_dimensions = [0], output_batch_dimension = 0, output_feature_dimension = 2, output_spatial_dimensions = [1]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x207xf32>, tensor<3x207x16xf32>) -> tensor<1x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op feature_group_count and batch_group_count must not both exceed 1, but are 2 and 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op the feature dimension of lhs (207) must be divisible by feature_group_count (2)}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op the batch dimension of lhs (1) must be divisible by batch_group_count (2)}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<3x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op the output feature dimension of rhs (16) must be divisible by batch_group_count (3)}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<3x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x100x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op the input feature dimension of rhs must be the feature dimension of lhs divided by feature_group_count, 207, but is 100}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x100x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op window_strides must have one entry per window dimension, but got 1 for 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op lhs_dilation must be positive, but got [0, 1]}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {lhs_dilate = [0, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op rhs_dilation must be positive, but got [0, 1]}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {rhs_dilate = [0, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op padding must have shape [2, 2] (low and high per window dimension), but has [1, 2]}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op window_reversal must have one entry per window dimension, but got 1 for 2}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op sizes of padded or dilated dimensions must fit in 64 bits}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[9223372036854775807, 9223372036854775807], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op precision_config must have at most 2 entries (lhs and rhs), but has 3}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x3x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x3x2x!quant.uniform<i8:f32:3, {1.0, 2.0}>>) {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x3x2x!quant.uniform<i8:f32:3, {1.0, 2.0}>>) -> tensor<1x6x6x2x!quant.uniform<i32:f32:3, {1.0, 2.0}>>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x2x!quant.uniform<i8:f32, 1.0>>, %b: tensor<3x3x2x2x!quant.uniform<i8:f32:2, {1.0, 2.0}>>) {
  // expected-error@+1 {{'stablehlo.convolution' op rhs must be quantized along its output feature dimension 3}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x2x!quant.uniform<i8:f32, 1.0>>, tensor<3x3x2x2x!quant.uniform<i8:f32:2, {1.0, 2.0}>>) -> tensor<1x6x6x2x!quant.uniform<i32:f32, 1.0>>
  return
}

// -----

func.func @f(%a: tensor<1x3x8x3x!quant.uniform<i8:f32, 1.0>>, %b: tensor<2x3x3x2x!quant.uniform<i8:f32:3, {1.0, 2.0}>>) {
  // expected-error@+1 {{'stablehlo.convolution' op result must be quantized along its feature dimension 3}}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x8x3x!quant.uniform<i8:f32, 1.0>>, tensor<2x3x3x2x!quant.uniform<i8:f32:3, {1.0, 2.0}>>) -> tensor<1x2x6x2x!quant.uniform<i32:f32:1, {1.0, 2.0}>>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>, %p: tensor<1x2xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_conv' op padding must have shape [2, 2] (low and high per spatial dimension), but has [1, 2]}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>, tensor<1x2xi64>) -> tensor<1x?x?x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>, %p: tensor<2x2xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_conv' op window_strides must be positive, but got [0, 1]}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64, window_strides = array<i64: 0, 1>} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>, tensor<2x2xi64>) -> tensor<1x?x?x16xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x207xf32>, %b: tensor<3x3x207x16xf32>, %p: tensor<2x2xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_conv' op result must be compatible with 'tensor<1x?x?x16xf32>', but is 'tensor<2x?x?x16xf32>'}}
  %0 = "stablehlo.dynamic_conv"(%a, %b, %p) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x207xf32>, tensor<3x3x207x16xf32>, tensor<2x2xi64>) -> tensor<2x?x?x16xf32>
  return
}
