// What is computed of elements that a gather takes more of than there are is computed before it takes them, and once.
// RUN: cupel opt %s --sink-gathers | FileCheck %s

// Rows that are interpolated between have the same columns: one sum, of which two lists of rows are taken.
// CHECK-LABEL: func.func @rows
// CHECK: %[[W:.*]] = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[P:.*]] = stablehlo.multiply %arg0, %[[W]] : tensor<3x4xf32>
// CHECK: %[[S:.*]] = stablehlo.add %[[P]], %arg1 : tensor<3x4xf32>
// CHECK-NOT: stablehlo.add
// CHECK: %[[A:.*]] = "stablehlo.gather"(%[[S]], %arg2)
// CHECK: %[[B:.*]] = "stablehlo.gather"(%[[S]], %arg3)
// CHECK: stablehlo.subtract %[[A]], %[[B]] : tensor<6x4xf32>
func.func @rows(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>, %i: tensor<6xi32>, %j: tensor<6xi32>, %w: tensor<4xf32>) -> tensor<6x4xf32> {
  %a = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
  %b = "stablehlo.gather"(%y, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
  %c = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
  %d = "stablehlo.gather"(%y, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
  %v = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
  %0 = stablehlo.multiply %a, %v : tensor<6x4xf32>
  %1 = stablehlo.add %0, %b : tensor<6x4xf32>
  %2 = stablehlo.multiply %c, %v : tensor<6x4xf32>
  %3 = stablehlo.add %2, %d : tensor<6x4xf32>
  %4 = stablehlo.subtract %1, %3 : tensor<6x4xf32>
  return %4 : tensor<6x4xf32>
}

// Weights of the rows themselves, and fewer rows than there are: left.
// CHECK-LABEL: func.func @left
// CHECK: stablehlo.multiply {{.*}} : tensor<6x4xf32>
// CHECK: stablehlo.negate {{.*}} : tensor<2x4xf32>
func.func @left(%x: tensor<3x4xf32>, %i: tensor<6xi32>, %j: tensor<2xi32>, %w: tensor<6xf32>) -> (tensor<6x4xf32>, tensor<2x4xf32>) {
  %a = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
  %v = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<6xf32>) -> tensor<6x4xf32>
  %0 = stablehlo.multiply %a, %v : tensor<6x4xf32>
  %b = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  %1 = stablehlo.negate %b : tensor<2x4xf32>
  return %0, %1 : tensor<6x4xf32>, tensor<2x4xf32>
}
