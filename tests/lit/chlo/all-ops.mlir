// Every operation and attribute of chlo, in the text that upstream prints.
// The text comes back byte for byte, also through generic form and bytecode.
// RUN: sed -e '/^\/\//d' -e '/^$/d' %s > %t.expected
// RUN: cupel opt %s | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=generic | cupel opt - | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=bytecode | cupel opt - | sed '/^$/d' | diff %t.expected -

module {
  func.func @unary(%arg0: tensor<8x?xf32>, %arg1: tensor<*xf64>, %arg2: tensor<4xcomplex<f32>>) {
    %0 = chlo.acos %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %1 = chlo.acosh %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %2 = chlo.asin %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %3 = chlo.asinh %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %4 = chlo.atan %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %5 = chlo.atanh %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %6 = chlo.bessel_i1e %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %7 = chlo.conj %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %8 = chlo.cosh %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %9 = chlo.sinh %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %10 = chlo.square %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %11 = chlo.tan %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %12 = chlo.digamma %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %13 = chlo.erf %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %14 = chlo.erf_inv %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %15 = chlo.erfc %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %16 = chlo.lgamma %arg0 : tensor<8x?xf32> -> tensor<8x?xf32>
    %17 = chlo.acos %arg1 : tensor<*xf64> -> tensor<*xf64>
    %18 = chlo.erf %arg1 : tensor<*xf64> -> tensor<*xf64>
    %19 = chlo.acos %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %20 = chlo.acosh %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %21 = chlo.asin %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %22 = chlo.asinh %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %23 = chlo.atan %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %24 = chlo.atanh %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %25 = chlo.conj %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %26 = chlo.cosh %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %27 = chlo.sinh %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %28 = chlo.square %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %29 = chlo.tan %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %30 = chlo.is_inf %arg0 : tensor<8x?xf32> -> tensor<8x?xi1>
    %31 = chlo.is_neg_inf %arg0 : tensor<8x?xf32> -> tensor<8x?xi1>
    %32 = chlo.is_pos_inf %arg0 : tensor<8x?xf32> -> tensor<8x?xi1>
    %33 = chlo._asin_acos_kernel %arg2 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
    %34 = chlo.erf %arg0 {note = "kept"} : tensor<8x?xf32> -> tensor<8x?xf32>
    return
  }
  func.func @binary(%arg0: tensor<2xf64>, %arg1: tensor<2xui32>) {
    %0 = chlo.next_after %arg0, %arg0 : tensor<2xf64>, tensor<2xf64> -> tensor<2xf64>
    %1 = chlo.polygamma %arg0, %arg0 : tensor<2xf64>, tensor<2xf64> -> tensor<2xf64>
    %2 = chlo.zeta %arg0, %arg0 : tensor<2xf64>, tensor<2xf64> -> tensor<2xf64>
    %3 = chlo.mulhi %arg1, %arg1 : tensor<2xui32>, tensor<2xui32> -> tensor<2xui32>
    return
  }
  func.func @broadcast(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<2x3xi32>, %arg3: tensor<?xi32>, %arg4: tensor<3xi1>, %arg5: tensor<*xf32>) {
    %0 = chlo.broadcast_add %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %1 = chlo.broadcast_atan2 %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %2 = chlo.broadcast_divide %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %3 = chlo.broadcast_maximum %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %4 = chlo.broadcast_minimum %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %5 = chlo.broadcast_multiply %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %6 = chlo.broadcast_next_after %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %7 = chlo.broadcast_polygamma %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %8 = chlo.broadcast_power %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %9 = chlo.broadcast_remainder %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %10 = chlo.broadcast_subtract %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %11 = chlo.broadcast_zeta %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %12 = chlo.broadcast_and %arg2, %arg3 : (tensor<2x3xi32>, tensor<?xi32>) -> tensor<2x3xi32>
    %13 = chlo.broadcast_or %arg2, %arg3 : (tensor<2x3xi32>, tensor<?xi32>) -> tensor<2x3xi32>
    %14 = chlo.broadcast_xor %arg2, %arg3 : (tensor<2x3xi32>, tensor<?xi32>) -> tensor<2x3xi32>
    %15 = chlo.broadcast_shift_left %arg2, %arg3 : (tensor<2x3xi32>, tensor<?xi32>) -> tensor<2x3xi32>
    %16 = chlo.broadcast_shift_right_arithmetic %arg2, %arg3 : (tensor<2x3xi32>, tensor<?xi32>) -> tensor<2x3xi32>
    %17 = chlo.broadcast_shift_right_logical %arg2, %arg3 : (tensor<2x3xi32>, tensor<?xi32>) -> tensor<2x3xi32>
    %18 = chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %19 = chlo.broadcast_add %arg5, %arg5 : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %20 = chlo.broadcast_complex %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xcomplex<f32>>
    %21 = chlo.broadcast_compare %arg0, %arg1 {comparison_direction = #chlo<comparison_direction GE>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    %22 = chlo.broadcast_compare %arg0, %arg1 {broadcast_dimensions = array<i64: 1>, compare_type = #chlo<comparison_type TOTALORDER>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    %23 = chlo.broadcast_select %arg4, %arg0, %arg1 : (tensor<3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @constants(%arg0: tensor<4x?xf32>) {
    %0 = chlo.constant dense<1> : tensor<2xi32>
    %1 = chlo.constant {note = 1 : i32} dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %2 = "chlo.constant_like"(%arg0) <{value = 1.000000e+00 : f32}> {note = 3 : i32} : (tensor<4x?xf32>) -> tensor<4x?xf32>
    return
  }
  func.func @ragged_dot(%arg0: tensor<2x11x5xf32>, %arg1: tensor<3x2x5x7xf32>, %arg2: tensor<3xi64>, %arg3: tensor<2x5x7xf32>) {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
    %1 = "chlo.ragged_dot"(%arg0, %arg3, %arg2) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2]>}> : (tensor<2x11x5xf32>, tensor<2x5x7xf32>, tensor<3xi64>) -> tensor<3x2x11x7xf32>
    return
  }
  func.func @scan(%arg0: tensor<4x3xi32>, %arg1: tensor<3xi32>, %arg2: tensor<?x3xi32>) {
    %0:2 = chlo.scan(%arg0) inits (%arg1) dimension=0  {
    ^bb0(%input: tensor<3xi32>, %carry: tensor<3xi32>):
      %2 = stablehlo.add %input, %carry : tensor<3xi32>
      stablehlo.return %2, %2 : tensor<3xi32>, tensor<3xi32>
    } : (tensor<4x3xi32>, tensor<3xi32>) -> (tensor<4x3xi32>, tensor<3xi32>)
    %1:2 = chlo.scan(%arg2) inits (%arg1) dimension=0  attributes {is_associative = true, is_reverse = true, note = 1 : i32, scan_dim_size = 4 : i64} {
    ^bb0(%input: tensor<3xi32>, %carry: tensor<3xi32>):
      %2 = stablehlo.add %input, %carry : tensor<3xi32>
      stablehlo.return %2, %2 : tensor<3xi32>, tensor<3xi32>
    } : (tensor<?x3xi32>, tensor<3xi32>) -> (tensor<?x3xi32>, tensor<3xi32>)
    return
  }
  func.func @top_k(%arg0: tensor<16x?xi32>, %arg1: tensor<*xf32>) {
    %values, %indices = chlo.top_k(%arg0, k = 8) : tensor<16x?xi32> -> (tensor<16x8xi32>, tensor<16x8xi32>)
    %values_0, %indices_1 = chlo.top_k(%arg1, k = 2) : tensor<*xf32> -> (tensor<*xf32>, tensor<*xi32>)
    %values_2, %indices_3 = chlo.top_k(%arg0, k = 8, is_stable = false) : tensor<16x?xi32> -> (tensor<16x8xi32>, tensor<16x8xi32>)
    return
  }
}
