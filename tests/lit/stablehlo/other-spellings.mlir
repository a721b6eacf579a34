// Text that is read in several spellings and printed in one.
// RUN: cupel opt %s | FileCheck %s

// CHECK-LABEL: func.func @functional_tails
func.func @functional_tails(%x: tensor<4xf32>, %p: tensor<4xi1>) {
  // CHECK-NEXT: stablehlo.add %arg0, %arg0 : tensor<4xf32>
  %0 = stablehlo.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: stablehlo.complex %arg0, %arg0 : tensor<4xcomplex<f32>>
  %1 = stablehlo.complex %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  // CHECK-NEXT: stablehlo.select %arg1, %arg0, %arg0 : tensor<4xi1>, tensor<4xf32>
  %2 = stablehlo.select %p, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @bounds
// CHECK-SAME: tensor<?x4xf32, #stablehlo.bounds<8, ?>>
func.func @bounds(%x: tensor<?x4xf32, #stablehlo.type_extensions<bounds = [8, ?]>>) {
  return
}

// CHECK-LABEL: func.func @attributes_in_any_order
func.func @attributes_in_any_order(%x: tensor<3x4xf32>, %i: tensor<2x1xi32>, %v: tensor<f32>) {
  // CHECK: #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  %0 = "stablehlo.gather"(%x, %i) {slice_sizes = array<i64: 1, 4>, dimension_numbers = #stablehlo.gather<
    index_vector_dim = 1, start_index_map = [0], collapsed_slice_dims = [0], offset_dims = [1],>} : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  // CHECK: contracting_dims = [1] x [1]
  %1 = "stablehlo.dot_general"(%x, %x) {dot_dimension_numbers = #stablehlo.dot<rhs_contracting_dimensions = [1], lhs_contracting_dimensions = [1]>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>
  // A reducer that is one commutative op is printed as that.
  // CHECK: stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.add across dimensions = [1]
  %2 = "stablehlo.reduce"(%x, %v) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  // Operands in the other order are not the same op.
  // CHECK: stablehlo.reduce(%arg0 init: %arg2) across dimensions = [1]
  // CHECK-NEXT: reducer
  %3 = stablehlo.reduce(%x init: %v) across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %s = stablehlo.add %b, %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return
}

// CHECK-LABEL: func.func @convolution_forms
func.func @convolution_forms(%x: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x2xf32>) {
  // CHECK-NEXT: dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = {{\[\[}}0, 0], [1, 1]], reverse = [true, false]}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b,0,1,f] x [0,1,i,o] -> [b,0,1,f], window = {reverse = [1, 0], pad = [[0, 0], [1, 1]], stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x8x2xf32>
  // CHECK-NEXT: dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
  %1 = "stablehlo.convolution"(%x, %k) {batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw
    input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3,
    kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x2xf32>) -> tensor<1x6x6x2xf32>
  return
}

// CHECK-LABEL: func.func @empty_operand_lists
func.func @empty_operand_lists(%v: tensor<f32>) {
  // CHECK-COUNT-2: stablehlo.dynamic_slice %arg0, {{ *}}sizes = []
  %0 = stablehlo.dynamic_slice %v, sizes = [] : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.dynamic_slice %v, , sizes = [] : (tensor<f32>) -> tensor<f32>
  return
}

// CHECK-LABEL: func.func @quantized_constant
func.func @quantized_constant() {
  // CHECK-NEXT: stablehlo.constant() {value = dense<[1, 2]> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>
  %0 = stablehlo.constant() <{value = dense<[1, 2]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
