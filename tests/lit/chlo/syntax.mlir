// Text that is read although it is not printed so.
// RUN: cupel opt %s | FileCheck %s

// CHECK-LABEL: func.func @field_order
// CHECK: #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>
func.func @field_order() attributes {a = #chlo.ragged_dot<lhs_ragged_dimensions = [0], rhs_contracting_dimensions = [0], lhs_batching_dimensions = [], lhs_contracting_dimensions = [1],>} {
  return
}

// CHECK-LABEL: func.func @inherent_attributes_in_the_dictionary
// CHECK: chlo.broadcast_compare %arg0, %arg0 {comparison_direction = #chlo<comparison_direction NE>}
// CHECK: chlo.top_k(%arg0, k = 1)
func.func @inherent_attributes_in_the_dictionary(%arg0: tensor<2xf32>) {
  %0 = "chlo.broadcast_compare"(%arg0, %arg0) {comparison_direction = #chlo<comparison_direction NE>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %1:2 = "chlo.top_k"(%arg0) {k = 1 : i64} : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xi32>)
  return
}

// CHECK-LABEL: func.func @scan_without_space
// CHECK: chlo.scan(%arg0) inits (%arg1) dimension=0  {
func.func @scan_without_space(%arg0: tensor<4xi32>, %arg1: tensor<i32>) {
  %0:2 = chlo.scan(%arg0) inits(%arg1) dimension=0 {
  ^bb0(%x: tensor<i32>, %c: tensor<i32>):
    stablehlo.return %x, %c : tensor<i32>, tensor<i32>
  } : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
  return
}
