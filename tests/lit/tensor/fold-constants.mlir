// What is known is computed; multiplications by one are dropped.
// RUN: cupel opt %s --fold-constants | FileCheck %s
// RUN: cupel opt %s --fold-constants --fold-constants="joins-vectors=true" | FileCheck %s --check-prefix=JOINED

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[H:.*]] = stablehlo.constant dense<5.000000e-01> : tensor<100000xf32>
// CHECK-NEXT: %[[A:.*]] = stablehlo.add %arg0, %[[H]]
// CHECK-NEXT: %[[I:.*]] = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
// A large one that is no single number is left to the run.
// CHECK-NEXT: %[[L:.*]] = stablehlo.iota
// CHECK-NEXT: return %[[A]], %[[I]], %[[L]]
func.func @main(%a: tensor<100000xf32>) -> (tensor<100000xf32>, tensor<3xi32>, tensor<100000xi32>) {
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %0 = stablehlo.convert %one : (tensor<1xi64>) -> tensor<1xf32>
  %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<100000xf32>
  %3 = stablehlo.multiply %a, %2 : tensor<100000xf32>
  %two = stablehlo.constant dense<2.0> : tensor<100000xf32>
  %half = stablehlo.divide %2, %two : tensor<100000xf32>
  %4 = stablehlo.add %3, %half : tensor<100000xf32>
  %5 = stablehlo.iota dim = 0 : tensor<3xi32>
  %ones = stablehlo.constant dense<1> : tensor<3xi32>
  %6 = stablehlo.add %5, %ones : tensor<3xi32>
  %7 = stablehlo.iota dim = 0 : tensor<100000xi32>
  return %4, %6, %7 : tensor<100000xf32>, tensor<3xi32>, tensor<100000xi32>
}

// Numbers that are repeated are read where they lie, but for who is known himself, and who does not read through moves.
// CHECK-LABEL: func.func @repeated
// CHECK-DAG: %[[FEW:.*]] = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[SUM:.*]] = stablehlo.constant dense<{{\[\[}}2.000000e+00, 2.000000e+00], [3.000000e+00, 5.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: %[[WRITTEN:.*]] = stablehlo.constant dense<{{\[\[}}1.000000e+00, 1.000000e+00], [2.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: %[[READ:.*]] = stablehlo.broadcast_in_dim %[[FEW]], dims = [0]
// CHECK-DAG: %[[TIMES:.*]] = stablehlo.multiply %arg0, %[[READ]]
// CHECK: stablehlo.multiply %[[TIMES]], %[[SUM]]
// CHECK: stablehlo.concatenate %{{.*}}, %[[WRITTEN]]
func.func @repeated(%a: tensor<2x2xf32>) -> tensor<4x2xf32> {
  %few = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %other = stablehlo.constant dense<[[1.0, 1.0], [1.0, 3.0]]> : tensor<2x2xf32>
  %0 = stablehlo.broadcast_in_dim %few, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.multiply %a, %0 : tensor<2x2xf32>
  %2 = stablehlo.add %0, %other : tensor<2x2xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<2x2xf32>
  %4 = stablehlo.concatenate %3, %0, dim = 0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}

// Index vectors that are made of repeated parts stay in parts, for passes that take them apart.
// Where nobody did, they are one constant.
// JOINED-LABEL: func.func @vectors_of_parts
// JOINED: stablehlo.constant dense<{{.*}}[3, 0], [3, 2], [3, 3]], {{.*}}[1, 0], [1, 2], [1, 3]]]> : tensor<2x3x2xi32>
// JOINED-NEXT: "stablehlo.gather"
// CHECK-LABEL: func.func @vectors_of_parts
// CHECK: stablehlo.concatenate
// CHECK: "stablehlo.gather"
func.func @vectors_of_parts(%x: tensor<5x4xf32>) -> tensor<2x3xf32> {
  %a = stablehlo.constant dense<[3, 1]> : tensor<2xi32>
  %b = stablehlo.constant dense<[0, 2, 3]> : tensor<3xi32>
  %p = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2xi32>) -> tensor<2x3x1xi32>
  %q = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xi32>) -> tensor<2x3x1xi32>
  %all = stablehlo.concatenate %p, %q, dim = 2 : (tensor<2x3x1xi32>, tensor<2x3x1xi32>) -> tensor<2x3x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x4xf32>, tensor<2x3x2xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// What index vectors count beside a part that is not known is counted: it may be a batch.
// CHECK-LABEL: func.func @counted_part
// CHECK: stablehlo.iota dim = 0 : tensor<2x3x1xi32>
func.func @counted_part(%x: tensor<2x4xf32>, %i: tensor<2x3x1xi32>) -> tensor<2x3xf32> {
  %p = stablehlo.iota dim = 0 : tensor<2x3x1xi32>
  %all = stablehlo.concatenate %p, %i, dim = 2 : (tensor<2x3x1xi32>, tensor<2x3x1xi32>) -> tensor<2x3x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x4xf32>, tensor<2x3x2xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Sums of halves are those of a run, which are formed in wider numbers: step by step in bf16 it would be 49.75.
// CHECK-LABEL: func.func @halves
// CHECK: stablehlo.constant dense<4.725000e+01> : tensor<1x1x1xbf16>
func.func @halves() -> tensor<1x1x1xbf16> {
  %0 = stablehlo.constant dense<0.96484375> : tensor<1x5x40xbf16>
  %1 = stablehlo.constant dense<0.2451171875> : tensor<1x40x5xbf16>
  %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[o, i, 0]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x40xbf16>, tensor<1x40x5xbf16>) -> tensor<1x1x1xbf16>
  return %2 : tensor<1x1x1xbf16>
}

// What is counted along one dimension and is too large for a constant is read as one line by what computes with it; who takes it as it is
// gets it as it was.
// CHECK-LABEL: func.func @counted_lines
// CHECK-DAG: %[[COLUMNS:.*]] = stablehlo.constant dense<"0x{{.*}}"> : tensor<300xi64>
// CHECK-DAG: %[[ROWS:.*]] = stablehlo.constant dense<"0x{{.*}}"> : tensor<400xi64>
// CHECK-DAG: %[[ALL_COLUMNS:.*]] = stablehlo.broadcast_in_dim %[[COLUMNS]], dims = [1] : (tensor<300xi64>) -> tensor<400x300xi64>
// CHECK-DAG: %[[ALL_ROWS:.*]] = stablehlo.broadcast_in_dim %[[ROWS]], dims = [0] : (tensor<400xi64>) -> tensor<400x300xi64>
// CHECK-DAG: %[[COUNTED:.*]] = stablehlo.iota dim = 0 : tensor<400x300xi64>
// CHECK: %[[LOWER:.*]] = stablehlo.compare GE, %[[ALL_ROWS]], %[[ALL_COLUMNS]]
// CHECK: return %[[LOWER]], %[[COUNTED]]
func.func @counted_lines() -> (tensor<400x300xi1>, tensor<400x300xi64>) {
  %0 = stablehlo.iota dim = 0 : tensor<400x300xi64>
  %1 = stablehlo.iota dim = 1 : tensor<400x300xi64>
  %2 = stablehlo.compare GE, %0, %1 : (tensor<400x300xi64>, tensor<400x300xi64>) -> tensor<400x300xi1>
  return %2, %0 : tensor<400x300xi1>, tensor<400x300xi64>
}
