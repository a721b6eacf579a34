// RUN: cupel opt %s --split-input-file --verify-diagnostics

// Slices and padding.

func.func @f(%a: tensor<3x8xf32>) {
  // expected-error@+2 {{'stablehlo.slice' op start_indices must have one entry per dimension of the operand, but got 1 entries for rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<3x8xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.slice' op start index must be in [0, limit index], but is 2 with limit 1 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %a [2:1] : (tensor<3xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.slice' op start index must be in [0, limit index], but is -9223372036854775808 with limit 9223372036854775807 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: -9223372036854775808>, limit_indices = array<i64: 9223372036854775807>, strides = array<i64: 1>} : (tensor<3xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.slice' op limit index must not exceed the size of the dimension, but is 4 for size 3 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %a [1:4] : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #stablehlo.bounds<3>>) {
  %0 = stablehlo.slice %a [1:3] : (tensor<?xf32, #stablehlo.bounds<3>>) -> tensor<2xf32>
  // expected-error@+2 {{'stablehlo.slice' op limit index must not exceed the size of the dimension, but is 4 for size <=3 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.slice %a [1:4] : (tensor<?xf32, #stablehlo.bounds<3>>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.slice' op stride must be positive, but is 0 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.slice %a [1:3:0] : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<?x8xf32>) {
  %0 = stablehlo.slice %a [1:9223372036854775807:9223372036854775807, 0:8:3] : (tensor<?x8xf32>) -> tensor<1x3xf32>
  // expected-error@+2 {{'stablehlo.slice' op inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<2x2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.slice %a [1:3, 0:8:3] : (tensor<?x8xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %i: tensor<i64>) {
  // expected-error@+2 {{'stablehlo.dynamic_slice' op start_indices must have one entry per dimension of the operand, but got 1 entries for rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_slice"(%a, %i) {slice_sizes = array<i64: 1, 1>} : (tensor<3x4xf32>, tensor<i64>) -> tensor<1x1xf32>
  return
}

// -----

func.func @f(%a: tensor<3x4xf32>, %i: tensor<i64>, %j: tensor<i32>) {
  // expected-error@+2 {{'stablehlo.dynamic_slice' op start_indices must have one type, but got 'tensor<i64>' and 'tensor<i32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [1, 1] : (tensor<3x4xf32>, tensor<i64>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %i: tensor<i64>) {
  // expected-error@+2 {{'stablehlo.dynamic_slice' op slice_sizes must have one entry per dimension of the operand, but got 2 entries for rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [1, 1] : (tensor<3xf32>, tensor<i64>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %i: tensor<i64>) {
  // expected-error@+2 {{'stablehlo.dynamic_slice' op slice size must be in [0, size of the dimension], but is 4 for size 3 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [4] : (tensor<3xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %i: tensor<i64>) {
  // expected-error@+2 {{'stablehlo.dynamic_slice' op slice size must be in [0, size of the dimension], but is -1 for size 3 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [-1] : (tensor<3xf32>, tensor<i64>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %u: tensor<4xf32>, %i: tensor<i64>) {
  // expected-error@+2 {{'stablehlo.dynamic_update_slice' op update must not be larger than the operand, but has size 4 for 3 in dimension 0}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<3xf32>, tensor<4xf32>, tensor<i64>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %u: tensor<1x1xf32>, %i: tensor<i64>) {
  // expected-error@+2 {{'stablehlo.dynamic_update_slice' op operand and update must have one rank and element type, but got 'tensor<3xf32>' and 'tensor<1x1xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<3xf32>, tensor<1x1xf32>, tensor<i64>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %u: tensor<1xf32>) {
  // expected-error@+2 {{'stablehlo.dynamic_update_slice' op start_indices must have one entry per dimension of the operand, but got 0 entries for rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_update_slice %a, %u : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #stablehlo.bounds<4>>, %u: tensor<2xf32>, %i: tensor<i64>) {
  // expected-error@+2 {{'stablehlo.dynamic_update_slice' op inferred type(s) 'tensor<?xf32, #stablehlo.bounds<4>>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<?xf32, #stablehlo.bounds<4>>, tensor<2xf32>, tensor<i64>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<?x?xf32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{'stablehlo.real_dynamic_slice' op start_indices must have one entry per dimension of the operand, but got 1 entries for rank 2}}
  %0 = stablehlo.real_dynamic_slice %a, %s, %s, %s : (tensor<?x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{'stablehlo.real_dynamic_slice' op operand and result must have one rank and element type, but got 'tensor<?xf32>' and 'tensor<?x?xf32>'}}
  %0 = stablehlo.real_dynamic_slice %a, %s, %s, %s : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %v: tensor<i32>) {
  // expected-error@+2 {{'stablehlo.pad' op padding_value must have the element type of the operand, but got 'i32' for 'f32'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %a, %v, low = [1], high = [1], interior = [0] : (tensor<3xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.pad' op edge_padding_low must have one entry per dimension of the operand, but got 2 entries for rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %a, %v, low = [1, 1], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.pad' op interior_padding must not be negative, but got [-1]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %a, %v, low = [1], high = [1], interior = [-1] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.pad' op padding must not make a size negative, but dimension 0 gets size -1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %a, %v, low = [-2], high = [-2], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.pad' op the size of dimension 0 of the result does not fit in 64 bits}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.pad %a, %v, low = [1], high = [0], interior = [9223372036854775807] : (tensor<3xf32>, tensor<f32>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<?x?x0xf32, #stablehlo.bounds<3, ?, ?>>, %v: tensor<f32>) {
  %0 = stablehlo.pad %a, %v, low = [1, 1, 0], high = [0, 0, 0], interior = [2, 0, 5] : (tensor<?x?x0xf32, #stablehlo.bounds<3, ?, ?>>, tensor<f32>) -> tensor<8x9x0xf32>
  // expected-error@+2 {{'stablehlo.pad' op inferred type(s) 'tensor<?x?x0xf32, #stablehlo.bounds<8, ?, ?>>' are incompatible with return type(s) of operation 'tensor<9x9x0xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %1 = stablehlo.pad %a, %v, low = [1, 1, 0], high = [0, 0, 0], interior = [2, 0, 5] : (tensor<?x?x0xf32, #stablehlo.bounds<3, ?, ?>>, tensor<f32>) -> tensor<9x9x0xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %v: tensor<f32>, %p: tensor<2xi64>, %q: tensor<1xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_pad' op interior_padding must have one entry per dimension of the operand, but got 2 entries for rank 1}}
  %0 = stablehlo.dynamic_pad %a, %v, %q, %q, %p : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %v: tensor<f32>, %q: tensor<1xi64>) {
  // expected-error@+1 {{'stablehlo.dynamic_pad' op operand and result must have one rank and element type, but got 'tensor<3xf32>' and 'tensor<?x?xf32>'}}
  %0 = stablehlo.dynamic_pad %a, %v, %q, %q, %q : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %v: tensor<f32>) {
  %c = stablehlo.constant dense<1> : tensor<1xi64>
  %0 = stablehlo.dynamic_pad %a, %v, %c, %c, %c : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<7xf32>
  // expected-error@+1 {{'stablehlo.dynamic_pad' op the constant padding gives 'tensor<7xf32>', which does not fit the result type 'tensor<6xf32>'}}
  %1 = stablehlo.dynamic_pad %a, %v, %c, %c, %c : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<6xf32>
  return
}
