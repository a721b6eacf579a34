// RUN: cupel opt %s --split-input-file --verify-diagnostics

// reduce, reduce_window and select_and_scatter.

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf16>, %a1: tensor<f16>) {
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf16>, tensor<f16>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x?xf32, #stablehlo.bounds<?, 4>>, %a1: tensor<f32>) {
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x?xf32, #stablehlo.bounds<?, 4>>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x?xf32, #stablehlo.bounds<?, 4>>, %a1: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce' op inferred type(s) 'tensor<?xf32, #stablehlo.bounds<4>>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x?xf32, #stablehlo.bounds<?, 4>>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce' op inferred type(s) 'tensor<3xf32>' are incompatible with return type(s) of operation 'tensor<2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce' op dimensions must name dimensions of the inputs, but 2 is outside [0, 2)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 2>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce' op dimensions must not name a dimension twice, but got [0, 0]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0, 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<1xf32>) {
  // expected-error@+1 {{'stablehlo.reduce' op region 'body' returns 'tensor<f32>', but initial value #0 is 'tensor<1xf32>'}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<3x2xf32>, %a2: tensor<f32>, %a3: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op inputs must have compatible shapes, but got 'tensor<2x3xf32>' and 'tensor<3x2xf32>'}}
  %0 = "stablehlo.reduce"(%a0, %a1, %a2, %a3) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>, %a2: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op expects N inputs and N init_values with N > 0, but got 3 operands}}
  %0 = "stablehlo.reduce"(%a0, %a1, %a2) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op region 'body' must return rank-0 tensors, but result #0 is 'tensor<2xf32>'}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>):
    stablehlo.return %x : tensor<2xf32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// OpenXLA's verifier takes regions that combine rows, of dimensions that stay, and so programs have them.
func.func @f(%a0: tensor<7x5xf32>, %a1: tensor<5xf32>) {
  %0 = stablehlo.reduce(%a0 init: %a1) across dimensions = [0] : (tensor<7x5xf32>, tensor<5xf32>) -> tensor<5xf32>
   reducer(%x: tensor<5xf32>, %y: tensor<5xf32>) {
    %s = stablehlo.add %x, %y : tensor<5xf32>
    stablehlo.return %s : tensor<5xf32>
  }
  return
}

// -----

// Some of them, in their order.
func.func @f(%a0: tensor<2x3x?x5xf32>, %a1: tensor<2x5xf32>) {
  %0 = stablehlo.reduce(%a0 init: %a1) across dimensions = [1] : (tensor<2x3x?x5xf32>, tensor<2x5xf32>) -> tensor<2x?x5xf32>
   reducer(%x: tensor<2x5xf32>, %y: tensor<2x5xf32>) {
    %s = stablehlo.add %x, %y : tensor<2x5xf32>
    stablehlo.return %s : tensor<2x5xf32>
  }
  return
}

// -----

func.func @f(%a0: tensor<2x3x5xf32>, %a1: tensor<5x2xf32>) {
  // expected-error@+1 {{'stablehlo.reduce' op region 'body' must return rank-0 tensors, but result #0 is 'tensor<5x2xf32>'}}
  %0 = stablehlo.reduce(%a0 init: %a1) across dimensions = [1] : (tensor<2x3x5xf32>, tensor<5x2xf32>) -> tensor<2x5xf32>
   reducer(%x: tensor<5x2xf32>, %y: tensor<5x2xf32>) {
    stablehlo.return %x : tensor<5x2xf32>
  }
  return
}

// -----

func.func @f(%a0: tensor<7x5xf32>, %a1: tensor<5xf32>) {
  // expected-error@+1 {{'stablehlo.reduce' op argument #1 of region 'body' must be 'tensor<5xf32>' like its result #0, but is 'tensor<f32>'}}
  %0 = stablehlo.reduce(%a0 init: %a1) across dimensions = [0] : (tensor<7x5xf32>, tensor<5xf32>) -> tensor<5xf32>
   reducer(%x: tensor<5xf32>, %y: tensor<f32>) {
    stablehlo.return %x : tensor<5xf32>
  }
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op region 'body' returns 'tensor<3xf32>', but initial value #0 is 'tensor<f32>'}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>):
    stablehlo.return %x : tensor<3xf32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// Of reduce_window, rows of a window.
func.func @f(%a0: tensor<4x5xf32>, %a1: tensor<2xf32>) {
  %0 = "stablehlo.reduce_window"(%a0, %a1) ({
  ^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>):
    %s = stablehlo.add %x, %y : tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }) {window_dimensions = array<i64: 2, 1>} : (tensor<4x5xf32>, tensor<2xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op argument #1 of region 'body' must be 'tensor<f32>' like its result #0, but is 'tensor<f64>'}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f64>):
    stablehlo.return %x : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op region 'body' computes on 'i32', which input #0 of element type 'f32' cannot be promoted to}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    stablehlo.return %x : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f64>) {
  // expected-error@+1 {{'stablehlo.reduce' op region 'body' computes on 'f32', which initial value #0 of element type 'f64' cannot be promoted to}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f64>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x3xf32>, %a1: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce' op region 'body' must be one block that ends with 'stablehlo.return'}}
  %0 = "stablehlo.reduce"(%a0, %a1) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    "func.return"(%x) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>, base_dilations = array<i64: 2, 1>, window_dilations = array<i64: 1, 3>, padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 5, 7>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<0x0xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, padding = dense<-9> : tensor<2x2xi64>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<0x0xf32>
  return
}

// -----

func.func @f(%a: tensor<?x?xf32, #stablehlo.bounds<4, ?>>, %i: tensor<f32>) {
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>} : (tensor<?x?xf32, #stablehlo.bounds<4, ?>>, tensor<f32>) -> tensor<3x7xf32>
  return
}

// -----

func.func @f(%a: tensor<?x?xf32, #stablehlo.bounds<4, ?>>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op inferred type(s) 'tensor<?x?xf32, #stablehlo.bounds<3, ?>>' are incompatible with return type(s) of operation 'tensor<4x7xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>} : (tensor<?x?xf32, #stablehlo.bounds<4, ?>>, tensor<f32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op window_dimensions must have one entry per dimension of the inputs, but got 1 entries for rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op window sizes must be positive, but got [2, 0]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 0>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op window_strides must have one entry per window dimension, but got 1 for 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op window_strides must be positive, but got [1, 0]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 0>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op base_dilations must be positive, but got [1, -1]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 1, -1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op window_dilations must be positive, but got [0, 1]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, window_dilations = array<i64: 0, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op padding must have shape [2, 2] (low and high per window dimension), but has [4611686018427387903, 2]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<4611686018427387903x2xi64>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op padding must have shape [2, 2] (low and high per window dimension), but has [4]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<4xi64>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.reduce_window' op sizes of padded or dilated dimensions must fit in 64 bits}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 9223372036854775807, 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x6xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op region 'body' must take 2 arguments (accumulated and new values), but takes 1}}
  %0 = "stablehlo.reduce_window"(%a, %i) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {window_dimensions = array<i64: 2, 2>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x23x23x64xf32>, %i: tensor<f32>) {
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x23x23x64xf32>, tensor<f32>) -> tensor<10x24x24x64xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x22x23x64xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op source must have one element per window, 'tensor<10x23x23x64xf32>', but is 'tensor<10x22x23x64xf32>'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x22x23x64xf32>, tensor<f32>) -> tensor<10x24x24x64xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x23x23x64xi32>, %i: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op operand and source must have one element type, but got 'f32' and 'i32'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x23x23x64xi32>, tensor<f32>) -> tensor<10x24x24x64xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x23x23x64xf32>, %i: tensor<1xf32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op init_value must have rank 0, but got 'tensor<1xf32>'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x23x23x64xf32>, tensor<1xf32>) -> tensor<10x24x24x64xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x23x23x64xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op window_dimensions must have one entry per dimension of the operand, but got 0 entries for rank 4}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {} : (tensor<10x24x24x64xf32>, tensor<10x23x23x64xf32>, tensor<f32>) -> tensor<10x24x24x64xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x23x23x64xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op region 'select' must take 2 arguments, but takes 1}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f32>):
      %p = stablehlo.compare GE, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x23x23x64xf32>, tensor<f32>) -> tensor<10x24x24x64xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x23x23x64xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op argument #0 of region 'select' must be a rank-0 tensor of 'f32', but is 'tensor<f64>'}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f64>, %y: tensor<f32>):
      %p = stablehlo.compare GE, %y, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x23x23x64xf32>, tensor<f32>) -> tensor<10x24x24x64xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x23x23x64xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op region 'select' must return one tensor<i1>, but returns ('tensor<f32>')}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      stablehlo.return %x : tensor<f32>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x23x23x64xf32>, tensor<f32>) -> tensor<10x24x24x64xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x23x23x64xf32>, %i: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op region 'scatter' must return 1 values, but returns 0}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      stablehlo.return
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x23x23x64xf32>, tensor<f32>) -> tensor<10x24x24x64xf32>
  return
}

// -----

func.func @f(%a: tensor<10x24x24x64xf32>, %b: tensor<10x23x23x64xf32>, %i: tensor<f32>) {
  // expected-error@+2 {{'stablehlo.select_and_scatter' op inferred type(s) 'tensor<10x24x24x64xf32>' are incompatible with return type(s) of operation 'tensor<10x24x24x65xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.select_and_scatter"(%a, %b, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>} : (tensor<10x24x24x64xf32>, tensor<10x23x23x64xf32>, tensor<f32>) -> tensor<10x24x24x65xf32>
  return
}
