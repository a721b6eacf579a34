// Every chlo operation becomes stablehlo, and nothing of chlo remains.
// RUN: cupel opt %s --lower-chlo | FileCheck %s
// RUN: cupel opt %s --lower-chlo | FileCheck %s --check-prefix=NONE
// RUN: not cupel opt %S/../chlo/all-ops.mlir --lower-chlo 2>&1 | FileCheck %s --check-prefix=UNRANKED

// NONE-NOT: chlo.

// Unranked operands cannot be decomposed; each is named.
// UNRANKED: 'chlo.acos' op cannot be decomposed to stablehlo: 'tensor<*xf64>' has no rank
// UNRANKED: 'chlo.erf' op cannot be decomposed to stablehlo: 'tensor<*xf64>' has no rank
// UNRANKED: 'chlo.broadcast_add' op cannot be decomposed to stablehlo: 'tensor<*xf32>' has no rank
// UNRANKED: 'chlo.top_k' op cannot be decomposed to stablehlo: its types must be ranked

// CHECK-LABEL: func.func @asin
// CHECK: %[[ONE:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK: %[[BELOW:.*]] = stablehlo.subtract %[[ONE]], %arg0
// CHECK: %[[ABOVE:.*]] = stablehlo.add %[[ONE]], %arg0
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %[[BELOW]], %[[ABOVE]]
// CHECK: %[[ROOT:.*]] = stablehlo.sqrt %[[PRODUCT]]
// CHECK: %[[RESULT:.*]] = stablehlo.atan2 %arg0, %[[ROOT]] : tensor<4xf32>
// CHECK: return %[[RESULT]]
func.func @asin(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.asin %arg0 : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Narrow floats are computed in f32 and rounded once.
// CHECK-LABEL: func.func @narrow
// CHECK: %[[WIDE:.*]] = stablehlo.convert %arg0 : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NOT: convert
// CHECK: stablehlo.atan2 {{.*}} : tensor<4xf32>
// CHECK-NEXT: stablehlo.convert {{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK-NEXT: return
func.func @narrow(%arg0: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = chlo.acos %arg0 : tensor<4xbf16> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// f32 keeps the formula that expected values were made with: exp(x + log(1/2)), step by step.
// CHECK-LABEL: func.func @cosh
// CHECK: %[[HALF:.*]] = stablehlo.constant dense<-0.693147182> : tensor<f32>
// CHECK: %[[SUM:.*]] = stablehlo.add %{{.*}}, %[[HALF]] : tensor<f32>
// CHECK: stablehlo.exponential %[[SUM]] : tensor<f32>
func.func @cosh(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = chlo.cosh %arg0 : tensor<f32> -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @complex
// CHECK: stablehlo.real %arg0
// CHECK: stablehlo.imag %arg0
// CHECK: %[[Z:.*]] = stablehlo.complex
// CHECK: return %[[Z]]
func.func @complex(%arg0: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
  %0 = chlo.acosh %arg0 : tensor<4xcomplex<f64>> -> tensor<4xcomplex<f64>>
  return %0 : tensor<4xcomplex<f64>>
}

// Constants of a dynamic shape are broadcast to the sizes of the operand, found once.
// CHECK-LABEL: func.func @dynamic
// CHECK: %[[SIZE:.*]] = stablehlo.get_dimension_size %arg0, dim = 0
// CHECK: %[[SHAPE:.*]] = stablehlo.concatenate
// CHECK-NOT: get_dimension_size
// CHECK: stablehlo.dynamic_broadcast_in_dim %{{.*}}, %[[SHAPE]], dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
// CHECK: stablehlo.atan2 {{.*}} : tensor<?x3xf32>
func.func @dynamic(%arg0: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = chlo.asin %arg0 : tensor<?x3xf32> -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @is_inf
// CHECK: %[[ABS:.*]] = stablehlo.abs %arg0
// CHECK: %[[INF:.*]] = stablehlo.constant dense<0x7F800000>
// CHECK: stablehlo.compare{{ +}}EQ, %[[ABS]], %[[INF]]
func.func @is_inf(%arg0: tensor<4xf32>) -> tensor<4xi1> {
  %0 = chlo.is_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// A format without infinities has none.
// CHECK-LABEL: func.func @is_inf_without_infinity
// CHECK-NEXT: %[[FALSE:.*]] = stablehlo.constant dense<false>
// CHECK-NEXT: return %[[FALSE]]
func.func @is_inf_without_infinity(%arg0: tensor<4xf8E4M3FN>) -> tensor<4xi1> {
  %0 = chlo.is_inf %arg0 : tensor<4xf8E4M3FN> -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: func.func @conj
// CHECK-DAG: %[[RE:.*]] = stablehlo.real %arg0
// CHECK-DAG: %[[IM:.*]] = stablehlo.imag %arg0
// CHECK: %[[MINUS:.*]] = stablehlo.negate %[[IM]]
// CHECK: stablehlo.complex %[[RE]], %[[MINUS]]
func.func @conj(%arg0: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = chlo.conj %arg0 : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// CHECK-LABEL: func.func @constants
// CHECK: %[[A:.*]] = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
// CHECK: %[[B:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK: return %[[A]], %[[B]]
func.func @constants(%arg0: tensor<4xf32>) -> (tensor<2xi32>, tensor<4xf32>) {
  %0 = chlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = "chlo.constant_like"(%arg0) {value = 2.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<2xi32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @mulhi_narrow
// CHECK: stablehlo.multiply {{.*}} : tensor<4xi16>
// CHECK: stablehlo.shift_right_arithmetic {{.*}} : tensor<4xi16>
// CHECK: stablehlo.convert {{.*}} : (tensor<4xi16>) -> tensor<4xi8>
func.func @mulhi_narrow(%arg0: tensor<4xi8>) -> tensor<4xi8> {
  %0 = chlo.mulhi %arg0, %arg0 : tensor<4xi8>, tensor<4xi8> -> tensor<4xi8>
  return %0 : tensor<4xi8>
}

// CHECK-LABEL: func.func @broadcast_static
// CHECK: %[[ROW:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
// CHECK: stablehlo.divide %arg0, %[[ROW]] : tensor<2x3xf32>
// CHECK: %[[COLUMN:.*]] = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
// CHECK: stablehlo.compare{{ +}}LT, %arg0, %[[COLUMN]], {{ *}}TOTALORDER
func.func @broadcast_static(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {
  %0 = chlo.broadcast_divide %arg0, %arg1 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = chlo.broadcast_compare %arg0, %arg2 {broadcast_dimensions = array<i64: 0>, compare_type = #chlo<comparison_type TOTALORDER>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xi1>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xi1>
}

// An unknown size may be 1 and then gives way to the other: 1 and n make n, also for n = 0.
// CHECK-LABEL: func.func @broadcast_dynamic
// CHECK: %[[L:.*]] = stablehlo.get_dimension_size %arg0, dim = 0
// CHECK: %[[R:.*]] = stablehlo.get_dimension_size %arg1, dim = 0
// CHECK: %[[IS_ONE:.*]] = stablehlo.compare{{ +}}EQ, %[[L]]
// CHECK: %[[SIZE:.*]] = stablehlo.select %[[IS_ONE]], %[[R]], %[[L]]
// CHECK: %[[SHAPE:.*]] = stablehlo.reshape %[[SIZE]] : (tensor<i32>) -> tensor<1xi32>
// CHECK: %[[LHS:.*]] = stablehlo.dynamic_broadcast_in_dim %arg0, %[[SHAPE]], dims = [0]
// CHECK: %[[RHS:.*]] = stablehlo.dynamic_broadcast_in_dim %arg1, %[[SHAPE]], dims = [0]
// CHECK: stablehlo.add %[[LHS]], %[[RHS]] : tensor<?xf32>
func.func @broadcast_dynamic(%arg0: tensor<?xf32>, %arg1: tensor<?xf32>) -> tensor<?xf32> {
  %0 = chlo.broadcast_add %arg0, %arg1 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @broadcast_select
// CHECK: %[[PRED:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<i1>) -> tensor<2xi1>
// CHECK: stablehlo.select
func.func @broadcast_select(%arg0: tensor<i1>, %arg1: tensor<2xf32>, %arg2: tensor<f32>) -> tensor<2xf32> {
  %0 = chlo.broadcast_select %arg0, %arg1, %arg2 : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @top_k
// CHECK: %[[POSITION:.*]] = stablehlo.iota dim = 1 : tensor<4x5xi32>
// CHECK: %[[SORTED:.*]]:2 = "stablehlo.sort"(%arg0, %[[POSITION]]) <{dimension = 1 : i64, is_stable = true}>
// CHECK: stablehlo.compare{{ +}}GT, %{{.*}}, %{{.*}}, {{ *}}TOTALORDER
// CHECK: stablehlo.slice %[[SORTED]]#0 [0:4, 0:2]
// CHECK: stablehlo.slice %[[SORTED]]#1 [0:4, 0:2]
func.func @top_k(%arg0: tensor<4x5xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  %0:2 = chlo.top_k(%arg0, k = 2) : tensor<4x5xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %0#0, %0#1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// CHECK-LABEL: func.func @top_k_dynamic
// CHECK: stablehlo.dynamic_iota %{{.*}}, dim = 1 : (tensor<2xi32>) -> tensor<4x?xi32>
// CHECK: is_stable = false
// CHECK: stablehlo.real_dynamic_slice {{.*}} -> tensor<4x2xui8>
func.func @top_k_dynamic(%arg0: tensor<4x?xui8>) -> tensor<4x2xui8> {
  %0:2 = chlo.top_k(%arg0, k = 2, is_stable = false) : tensor<4x?xui8> -> (tensor<4x2xui8>, tensor<4x2xi32>)
  return %0#0 : tensor<4x2xui8>
}

// CHECK-LABEL: func.func @scan_reverse
// CHECK: %[[LOOP:.*]]:5 = stablehlo.while
// CHECK: stablehlo.compare{{ +}}LT
// CHECK: do {
// CHECK: %[[LAST:.*]] = stablehlo.subtract
// CHECK: %[[POSITION:.*]] = stablehlo.subtract %[[LAST]]
// CHECK: %[[SLICE:.*]] = stablehlo.dynamic_slice %{{.*}}, %{{.*}}, %[[POSITION]], sizes = [2, 1]
// CHECK: %[[INPUT:.*]] = stablehlo.reshape %[[SLICE]] : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK: stablehlo.sine %[[INPUT]]
// CHECK: stablehlo.dynamic_update_slice
// CHECK: return %[[LOOP]]#3, %[[LOOP]]#4
func.func @scan_reverse(%arg0: tensor<2x4xf32>, %arg1: tensor<2xf32>) -> (tensor<2x4xf32>, tensor<2xf32>) {
  %0:2 = chlo.scan(%arg0) inits (%arg1) dimension=1 attributes {is_reverse = true} {
  ^bb0(%input: tensor<2xf32>, %carry: tensor<2xf32>):
    %1 = stablehlo.sine %input : tensor<2xf32>
    %2 = stablehlo.add %1, %carry : tensor<2xf32>
    stablehlo.return %1, %2 : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2x4xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2xf32>
}

// chlo inside of a scan is decomposed too.
// CHECK-LABEL: func.func @scan_of_chlo
// CHECK: stablehlo.while
// CHECK: stablehlo.atan2
func.func @scan_of_chlo(%arg0: tensor<?xf32>, %arg1: tensor<f32>) -> tensor<f32> {
  %0 = chlo.scan(%arg0) inits (%arg1) dimension=0 {
  ^bb0(%input: tensor<f32>, %carry: tensor<f32>):
    %1 = chlo.atan %input : tensor<f32> -> tensor<f32>
    %2 = stablehlo.add %1, %carry : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  } : (tensor<?xf32>, tensor<f32>) -> (tensor<f32>)
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @ragged_free
// CHECK: %[[PRODUCT:.*]] = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [1], contracting_dims = [2] x [2], precision = [HIGHEST, DEFAULT] : {{.*}} -> tensor<2x11x3x7xf32>
// CHECK: "stablehlo.reduce_window"
// CHECK: stablehlo.compare{{ +}}GE
// CHECK: stablehlo.compare{{ +}}LT
// CHECK: %[[MASKED:.*]] = stablehlo.select %{{.*}}, %[[PRODUCT]]
// CHECK: stablehlo.reduce(%[[MASKED]] init: %{{.*}}) applies stablehlo.add across dimensions = [2]
func.func @ragged_free(%arg0: tensor<2x11x5xf32>, %arg1: tensor<3x2x5x7xf32>, %arg2: tensor<3xi32>) -> tensor<2x11x7xf32> {
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {precision_config = [#chlo<precision HIGHEST>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>} : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi32>) -> tensor<2x11x7xf32>
  return %0 : tensor<2x11x7xf32>
}

// CHECK-LABEL: func.func @ragged_contracting
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x11x5xf32>, tensor<3x5x7xf32>) -> tensor<3x11x7xf32>
func.func @ragged_contracting(%arg0: tensor<11x5xf32>, %arg1: tensor<5x7xf32>, %arg2: tensor<3xi64>) -> tensor<3x11x7xf32> {
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>} : (tensor<11x5xf32>, tensor<5x7xf32>, tensor<3xi64>) -> tensor<3x11x7xf32>
  return %0 : tensor<3x11x7xf32>
}

// CHECK-LABEL: func.func @ragged_batching
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1]
// CHECK-NEXT: return
func.func @ragged_batching(%arg0: tensor<4x11x5xf32>, %arg1: tensor<4x5x7xf32>, %arg2: tensor<3xi64>) -> tensor<4x11x7xf32> {
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>} : (tensor<4x11x5xf32>, tensor<4x5x7xf32>, tensor<3xi64>) -> tensor<4x11x7xf32>
  return %0 : tensor<4x11x7xf32>
}

// The rest of the dialect: that each comes through.
func.func @remaining(%arg0: tensor<2x?xf64>, %arg1: tensor<2xui64>, %arg2: tensor<2xf8E4M3FNUZ>, %arg3: tensor<2xcomplex<f32>>, %arg4: tensor<2xi64>) {
  %0 = chlo.acosh %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %1 = chlo.asinh %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %2 = chlo.atanh %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %3 = chlo.bessel_i1e %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %4 = chlo.sinh %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %5 = chlo.square %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %6 = chlo.tan %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %7 = chlo.digamma %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %8 = chlo.lgamma %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %9 = chlo.erf %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %10 = chlo.erfc %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %11 = chlo.erf_inv %arg0 : tensor<2x?xf64> -> tensor<2x?xf64>
  %12 = chlo.is_pos_inf %arg0 : tensor<2x?xf64> -> tensor<2x?xi1>
  %13 = chlo.is_neg_inf %arg0 : tensor<2x?xf64> -> tensor<2x?xi1>
  %14 = chlo.polygamma %arg0, %arg0 : tensor<2x?xf64>, tensor<2x?xf64> -> tensor<2x?xf64>
  %15 = chlo.zeta %arg0, %arg0 : tensor<2x?xf64>, tensor<2x?xf64> -> tensor<2x?xf64>
  %16 = chlo.next_after %arg2, %arg2 : tensor<2xf8E4M3FNUZ>, tensor<2xf8E4M3FNUZ> -> tensor<2xf8E4M3FNUZ>
  %17 = chlo.mulhi %arg1, %arg1 : tensor<2xui64>, tensor<2xui64> -> tensor<2xui64>
  %18 = chlo.mulhi %arg4, %arg4 : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  %19 = chlo._asin_acos_kernel %arg3 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %20 = chlo.atanh %arg3 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %21 = chlo.cosh %arg3 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %22 = chlo.square %arg3 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %23 = chlo.broadcast_polygamma %arg0, %arg0 : (tensor<2x?xf64>, tensor<2x?xf64>) -> tensor<2x?xf64>
  %24 = chlo.broadcast_zeta %arg0, %arg0 : (tensor<2x?xf64>, tensor<2x?xf64>) -> tensor<2x?xf64>
  %25 = chlo.broadcast_next_after %arg0, %arg0 : (tensor<2x?xf64>, tensor<2x?xf64>) -> tensor<2x?xf64>
  return
}
