// Text that is not StableHLO: the message says what was expected.
// RUN: cupel opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{expected a commutative stablehlo op after 'applies', but got 'stablehlo.subtract'}}
  %0 = stablehlo.reduce(%x init: %v) applies stablehlo.subtract across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{1 operands present, but expected 2}}
  %0 = stablehlo.abs %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected a format such as e8m10, but got 'bf16'}}
  %0 = stablehlo.reduce_precision %x, format = bf16 : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{unknown key 'offset', expected one of: offset_dims, collapsed_slice_dims}}
func.func private @f() attributes {a = #stablehlo.gather<offset = [1]>}

// -----

// expected-error @+1 {{key 'offset_dims' is given twice}}
func.func private @f() attributes {a = #stablehlo.gather<offset_dims = [1], offset_dims = [2]>}

// -----

// expected-error @+1 {{unknown stablehlo attribute 'gater'}}
func.func private @f() attributes {a = #stablehlo.gater<>}

// -----

// expected-error @+1 {{expected spatial dimensions 0 to 1, but 1 is missing}}
func.func private @f() attributes {a = #stablehlo.conv<[b, 0, 2, f]x[0, 1, i, o]->[b, 0, 1, f]>}

// -----

// expected-error @+1 {{expected 'b', 'f', '?' or a number, but got 'o'}}
func.func private @f() attributes {a = #stablehlo.conv<[b, 0, o]x[0, i, o]->[b, 0, f]>}

// -----

// expected-error @+1 {{Bounds length is 1, expected to be equal to rank(2) of the tensor}}
func.func private @f(tensor<?x?xf32, #stablehlo.bounds<3>>)

// -----

// expected-error @+1 {{Static dimension 1 cannot have a bound}}
func.func private @f(tensor<?x4xf32, #stablehlo.bounds<3, 4>>)

// -----

// expected-error @+1 {{result accuracy mode HIGHEST takes no tolerance, but got atol = 1.0}}
func.func private @f() attributes {a = #stablehlo.result_accuracy<atol = 1.0, mode = #stablehlo.result_accuracy_mode<HIGHEST>>}

// -----

func.func @f(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{expected DEFAULT, HIGH or HIGHEST, but got 'LOW'}}
  %0 = stablehlo.dot %a, %a, precision = [LOW, LOW] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x2xf32>) {
  // expected-error @+1 {{window attribute 'stride' is given twice}}
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x6x2xf32>
  return
}
