// Constants of main become arguments, except those that decide a shape and those that say how something is computed.
// RUN: cupel opt %s --hoist-constants --split-input-file --allow-unregistered-dialect | FileCheck %s

// CHECK: module attributes {cupel.hoisted_constants = [dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>, dense<3.000000e+00> : tensor<2xf32>]}
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<2xf32>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>)
// CHECK-NEXT: %[[A:.*]] = stablehlo.add %arg1, %arg2
// CHECK-NEXT: %[[B:.*]] = stablehlo.multiply %[[A]], %arg0
// CHECK-NEXT: return %[[B]]
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = func.call @inputs() : () -> tensor<2xf32>
  %unused = stablehlo.constant dense<7> : tensor<i32>
  %2 = stablehlo.add %0, %1 : tensor<2xf32>
  %3 = stablehlo.multiply %2, %a : tensor<2xf32>
  return %3 : tensor<2xf32>
}
func.func private @inputs() -> tensor<2xf32> {
  %0 = stablehlo.constant dense<3.0> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Of quantized weights the scales stay, one for each column, and the zero point: which kernel multiplies integers depends on them.
// CHECK: cupel.hoisted_constants = [dense<{{.*}}> : tensor<4x5xi8>]
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<2x4xf32>, %arg1: tensor<4x5xi8>)
// CHECK-DAG: stablehlo.constant dense<[5.000000e-01, 2.500000e-01, 1.250000e-01, 1.000000e+00, 2.000000e+00]> : tensor<5xf32>
// CHECK-DAG: stablehlo.constant dense<3> : tensor<i32>
func.func @main(%a: tensor<2x4xf32>) -> tensor<2x5xf32> {
  %w = stablehlo.constant dense<"0x0102030405060708090A0B0C0D0E0F1011121314"> : tensor<4x5xi8>
  %scales = stablehlo.constant dense<[0.5, 0.25, 0.125, 1.0, 2.0]> : tensor<5xf32>
  %point = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.convert %w : (tensor<4x5xi8>) -> tensor<4x5xi32>
  %1 = stablehlo.broadcast_in_dim %point, dims = [] : (tensor<i32>) -> tensor<4x5xi32>
  %2 = stablehlo.subtract %0, %1 : tensor<4x5xi32>
  %3 = stablehlo.convert %2 : (tensor<4x5xi32>) -> tensor<4x5xf32>
  %4 = stablehlo.broadcast_in_dim %scales, dims = [1] : (tensor<5xf32>) -> tensor<4x5xf32>
  %5 = stablehlo.multiply %3, %4 : tensor<4x5xf32>
  %6 = stablehlo.dot_general %a, %5, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %6 : tensor<2x5xf32>
}

// -----

// Beside what is not known: an epsilon, also one that is moved before it meets it, the start of a sum and
// the first number of a loop stay; weights do not.
// CHECK: cupel.hoisted_constants = [dense<{{\[}}[0.000000e+00, {{.*}}> : tensor<4x5xf32>]
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<4x5xf32>, %arg1: tensor<4x5xf32>)
// CHECK-DAG: stablehlo.constant dense<9.99999974E-6> : tensor<f32>
// CHECK-DAG: stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG: stablehlo.constant dense<0> : tensor<i32>
func.func @main(%a: tensor<4x5xf32>) -> (tensor<4xf32>, tensor<i32>) {
  %w = stablehlo.constant dense<"0x000000000000803F0000004000004040000080400000A0400000C0400000E040000000410000104100002041000030410000404100005041000060410000704100008041000088410000904100009841"> : tensor<4x5xf32>
  %e = stablehlo.constant dense<1.0e-5> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %b = stablehlo.broadcast_in_dim %e, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
  %0 = stablehlo.multiply %a, %w : tensor<4x5xf32>
  %1 = stablehlo.add %0, %b : tensor<4x5xf32>
  %2:2 = stablehlo.while(%k = %i, %x = %1) : tensor<i32>, tensor<4x5xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %k, %one : tensor<i32>
    %y = stablehlo.add %x, %x : tensor<4x5xf32>
    stablehlo.return %next, %y : tensor<i32>, tensor<4x5xf32>
  }
  %3 = stablehlo.reduce(%2#1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return %3, %2#0 : tensor<4xf32>, tensor<i32>
}

// -----

// All is known: what is summed becomes an argument and the start of the sum stays; what is only moved is
// computed by the device as well, if nothing else is done with it.
// CHECK: cupel.hoisted_constants = [dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>, dense<5> : tensor<i32>]
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<2xf32>, %arg1: tensor<i32>)
// CHECK: %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: stablehlo.reduce(%arg0 init: %[[Z]])
// CHECK: stablehlo.broadcast_in_dim %arg1
func.func @main() -> (tensor<f32>, tensor<3xi32>) {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<3xi32>
  return %0, %1 : tensor<f32>, tensor<3xi32>
}

// -----

// CHECK: cupel.hoisted_constants = []
// CHECK: stablehlo.dynamic_reshape
func.func @main(%a: tensor<4xf32>) -> tensor<?x?xf32> {
  %0 = stablehlo.constant dense<1> : tensor<2xi32>
  %1 = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %2 = stablehlo.add %0, %1 : tensor<2xi32>
  %3 = stablehlo.dynamic_reshape %a, %2 : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %3 : tensor<?x?xf32>
}

// -----

// CHECK: cupel.hoisted_constants = []
// CHECK: stablehlo.constant {my.sharding = "x"}
func.func @main() -> tensor<2xf32> {
  %0 = stablehlo.constant {my.sharding = "x"} dense<1.0> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Where elements are gathered says how, not what with; what is gathered is computed with.
// CHECK: cupel.hoisted_constants = [dense<
// CHECK-SAME: tensor<20xf32>]
// CHECK: %[[PLACES:.*]] = stablehlo.constant dense<[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]>
// CHECK: "stablehlo.gather"(%arg0, %[[PLACES]])
func.func @main(%a: tensor<10xf32>) -> tensor<20xf32> {
  %places = stablehlo.constant dense<[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]> : tensor<20xi32>
  %b = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<20xf32>
  %0 = "stablehlo.gather"(%a, %places) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<10xf32>, tensor<20xi32>) -> tensor<20xf32>
  %1 = stablehlo.add %0, %b : tensor<20xf32>
  return %1 : tensor<20xf32>
}

// -----

// A number that something is computed with is hoisted, but stays where it is the start of a sum as well.
// CHECK: cupel.hoisted_constants = [dense<0> : tensor<i32>]
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: stablehlo.reduce(%arg0 init: %[[ZERO]])
// CHECK: stablehlo.broadcast_in_dim %arg1
func.func @main(%x: tensor<5xi32>) -> (tensor<i32>, tensor<3xi32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<i32>
  %1 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<i32>) -> tensor<3xi32>
  return %0, %1 : tensor<i32>, tensor<3xi32>
}
