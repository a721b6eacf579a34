// What the parsers and verifiers of chlo refuse.
// RUN: cupel opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @element_type(%arg0: tensor<4xf32>) {
  // expected-error @+1 {{requires the same element type for all operands and results}}
  %0 = chlo.erf %arg0 : tensor<4xf32> -> tensor<4xf64>
  return
}

// -----

func.func @shape(%arg0: tensor<4xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = chlo.acos %arg0 : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @kind(%arg0: tensor<4xi32>) {
  // expected-error @+1 {{operand #0 must be tensor of}}
  %0 = chlo.lgamma %arg0 : tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

func.func @broadcast_sizes(%arg0: tensor<2x3xf32>, %arg1: tensor<4xf32>) {
  // expected-error @+1 {{operands do not broadcast: sizes 3 and 4 meet in dimension 1 of the result}}
  %0 = chlo.broadcast_add %arg0, %arg1 : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_result(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) {
  // expected-error @+1 {{operands broadcast to 'tensor<2x3xf32>', but the result is 'tensor<2x4xf32>'}}
  %0 = chlo.broadcast_add %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @broadcast_elements(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf64>) {
  // expected-error @+1 {{operands must have one element type, but got 'f32' and 'f64'}}
  %0 = chlo.broadcast_add %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_complex(%arg0: tensor<2xf32>) {
  // expected-error @+1 {{result must have the element type 'complex<f32>', but has 'complex<f64>'}}
  %0 = chlo.broadcast_complex %arg0, %arg0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
  return
}

// -----

func.func @broadcast_dimensions_count(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) {
  // expected-error @+1 {{broadcast_dimensions has 2 entries; the operand of lower rank has 1 dimensions}}
  %0 = chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_dimensions_range(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) {
  // expected-error @+1 {{broadcast_dimensions[0] = 2 is not a dimension of the result, which has rank 2}}
  %0 = chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 2>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_dimensions_order(%arg0: tensor<2x3x4xf32>, %arg1: tensor<3x2xf32>) {
  // expected-error @+1 {{broadcast_dimensions must be strictly increasing, but entry 1 is 0 after 1}}
  %0 = chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 1, 0>} : (tensor<2x3x4xf32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @constant_like(%arg0: tensor<4xf32>) {
  // expected-error @+1 {{value is 'f64', but the result has elements of 'f32'}}
  %0 = "chlo.constant_like"(%arg0) {value = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @top_k_size(%arg0: tensor<4x3xf32>) {
  // expected-error @+1 {{the last dimension of the operand has size 3, smaller than k = 5}}
  %0:2 = chlo.top_k(%arg0, k = 5) : tensor<4x3xf32> -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return
}

// -----

func.func @top_k_negative(%arg0: tensor<3xf32>) {
  // expected-error @+1 {{k must not be negative, but is -1}}
  %0:2 = chlo.top_k(%arg0, k = -1) : tensor<3xf32> -> (tensor<3xf32>, tensor<3xi32>)
  return
}

// -----

func.func @top_k_scalar(%arg0: tensor<f32>) {
  // expected-error @+1 {{the operand needs at least one dimension}}
  %0:2 = chlo.top_k(%arg0, k = 1) : tensor<f32> -> (tensor<1xf32>, tensor<1xi32>)
  return
}

// -----

func.func @top_k_indices(%arg0: tensor<3xf32>) {
  // expected-error @+1 {{indices must be i32, but are 'i64'}}
  %0:2 = chlo.top_k(%arg0, k = 1) : tensor<3xf32> -> (tensor<1xf32>, tensor<1xi64>)
  return
}

// -----

// expected-error @+1 {{unknown field 'lhs_contracting' of #chlo.ragged_dot}}
func.func private @ragged_field() attributes {a = #chlo.ragged_dot<lhs_contracting = [0]>}

// -----

// expected-error @+1 {{field 'lhs_ragged_dimensions' of #chlo.ragged_dot is given twice}}
func.func private @ragged_field_twice() attributes {a = #chlo.ragged_dot<lhs_ragged_dimensions = [0], lhs_ragged_dimensions = [0]>}

// -----

func.func @ragged_count(%arg0: tensor<11x5xf32>, %arg1: tensor<3x5x7xf32>, %arg2: tensor<3xi64>) {
  // expected-error @+1 {{lhs must have exactly one ragged dimension, but 2 are named}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0, 1], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @ragged_contracting(%arg0: tensor<11x5xf32>, %arg1: tensor<3x6x7xf32>, %arg2: tensor<3xi64>) {
  // expected-error @+1 {{contracting dimension 1 of lhs has size 5, but dimension 1 of rhs has size 6}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x6x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @ragged_group(%arg0: tensor<11x5xf32>, %arg1: tensor<3x5x7xf32>, %arg2: tensor<4xi64>) {
  // expected-error @+1 {{the group dimension of rhs has size 3, but there are 4 groups}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<4xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @ragged_result(%arg0: tensor<11x5xf32>, %arg1: tensor<5x7xf32>, %arg2: tensor<4xi64>) {
  // expected-error @+1 {{the result has the shape of 'tensor<4x11x7xf32>', but is 'tensor<11x7xf32>'}}
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>} : (tensor<11x5xf32>, tensor<5x7xf32>, tensor<4xi64>) -> tensor<11x7xf32>
  return
}

// -----

func.func @scan_dimension(%arg0: tensor<4xi32>, %arg1: tensor<i32>) {
  // expected-error @+1 {{dimension = 1 is not a dimension of input 0 ('tensor<4xi32>')}}
  %0:2 = chlo.scan(%arg0) inits (%arg1) dimension=1 {
  ^bb0(%input: tensor<i32>, %carry: tensor<i32>):
    stablehlo.return %input, %carry : tensor<i32>, tensor<i32>
  } : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
  return
}

// -----

func.func @scan_lengths(%arg0: tensor<4xi32>, %arg1: tensor<5xi32>) {
  // expected-error @+1 {{input 1 has size 5 in the scan dimension, expected 4}}
  %0 = chlo.scan(%arg0, %arg1) inits () dimension=0 {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %a : tensor<i32>
  } : (tensor<4xi32>, tensor<5xi32>) -> (tensor<4xi32>)
  return
}

// -----

func.func @scan_body(%arg0: tensor<4xi32>, %arg1: tensor<i32>) {
  // expected-error @+1 {{body returns 1 values, expected 2 (the outputs, then the carries)}}
  %0:2 = chlo.scan(%arg0) inits (%arg1) dimension=0 {
  ^bb0(%input: tensor<i32>, %carry: tensor<i32>):
    stablehlo.return %input : tensor<i32>
  } : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
  return
}

// -----

func.func @scan_argument(%arg0: tensor<4x2xi32>, %arg1: tensor<i32>) {
  // expected-error @+1 {{body argument 0 is 'tensor<i32>', expected 'tensor<2xi32>'}}
  %0 = chlo.scan(%arg0) inits (%arg1) dimension=0 {
  ^bb0(%input: tensor<i32>, %carry: tensor<i32>):
    stablehlo.return %carry : tensor<i32>
  } : (tensor<4x2xi32>, tensor<i32>) -> (tensor<i32>)
  return
}

// -----

func.func @scan_type(%arg0: tensor<4xi32>, %arg1: tensor<i32>) {
  %0 = chlo.scan(%arg0) inits (%arg1) dimension=0 {
  ^bb0(%input: tensor<i32>, %carry: tensor<i32>):
    stablehlo.return %carry : tensor<i32>
  // expected-error @+1 {{the type has 1 inputs for 1 inputs and 1 inits}}
  } : (tensor<4xi32>) -> (tensor<i32>)
  return
}
