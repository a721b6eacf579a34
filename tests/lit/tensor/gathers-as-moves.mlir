// Gathers whose places are known are moves; parts of index vectors that only count are batches.
// RUN: cupel opt %s --gathers-as-moves | FileCheck %s

// CHECK-LABEL: func.func @repeated
// CHECK: %[[B:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 3] : (tensor<2x3x5xf32>) -> tensor<2x3x2x5xf32>
// CHECK: %[[R:.*]] = stablehlo.reshape %[[B]] : (tensor<2x3x2x5xf32>) -> tensor<2x6x5xf32>
// CHECK: return %[[R]]
func.func @repeated(%x: tensor<2x3x5xf32>) -> tensor<2x6x5xf32> {
  %places = stablehlo.constant dense<[0, 0, 1, 1, 2, 2]> : tensor<6xi64>
  %0 = "stablehlo.gather"(%x, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1, 5>}> : (tensor<2x3x5xf32>, tensor<6xi64>) -> tensor<2x6x5xf32>
  return %0 : tensor<2x6x5xf32>
}

// Places outside are held inside.
// CHECK-LABEL: func.func @backwards
// CHECK: %[[S:.*]] = stablehlo.slice %arg0 [0:3:2, 0:5] : (tensor<4x5xf32>) -> tensor<2x5xf32>
// CHECK: stablehlo.reverse %[[S]], dims = [0]
func.func @backwards(%x: tensor<4x5xf32>) -> tensor<2x5xf32> {
  %places = stablehlo.constant dense<[[2], [-7]]> : tensor<2x1xi32>
  %0 = "stablehlo.gather"(%x, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<4x5xf32>, tensor<2x1xi32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// CHECK-LABEL: func.func @one
// CHECK: stablehlo.slice %arg0 [3:4, 0:5]
// CHECK: stablehlo.broadcast_in_dim {{.*}} -> tensor<1x3x5xf32>
func.func @one(%x: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %places = stablehlo.constant dense<9> : tensor<3xui8>
  %0 = "stablehlo.gather"(%x, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<4x5xf32>, tensor<3xui8>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// Little of a table stays a gather, which says that the rest is not read.
// CHECK-LABEL: func.func @little
// CHECK: stablehlo.gather
func.func @little(%x: tensor<12x5xf32>) -> tensor<2x5xf32> {
  %places = stablehlo.constant dense<[3, 9]> : tensor<2xi64>
  %0 = "stablehlo.gather"(%x, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<12x5xf32>, tensor<2xi64>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// CHECK-LABEL: func.func @anything
// CHECK: stablehlo.gather
func.func @anything(%x: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %places = stablehlo.constant dense<[0, 3, 1]> : tensor<3xi64>
  %0 = "stablehlo.gather"(%x, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<4x5xf32>, tensor<3xi64>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @counted
// CHECK-NOT: concatenate
// CHECK: %[[P:.*]] = stablehlo.reshape %arg1 : (tensor<4x6xi64>) -> tensor<4x6x1xi64>
// CHECK: "stablehlo.gather"(%arg0, %[[P]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>
func.func @counted(%x: tensor<4x5xf32>, %places: tensor<4x6xi64>) -> tensor<4x6xf32> {
  %row = stablehlo.iota dim = 0 : tensor<4x6x1xi64>
  %column = stablehlo.reshape %places : (tensor<4x6xi64>) -> tensor<4x6x1xi64>
  %both = stablehlo.concatenate %row, %column, dim = 2 : (tensor<4x6x1xi64>, tensor<4x6x1xi64>) -> tensor<4x6x2xi64>
  %0 = "stablehlo.gather"(%x, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x5xf32>, tensor<4x6x2xi64>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @added
// CHECK-NOT: concatenate
// CHECK: %[[P:.*]] = stablehlo.reshape %arg1 : (tensor<6x5xi64>) -> tensor<6x5x1xi64>
// CHECK: "stablehlo.scatter"(%arg0, %[[P]], %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>
func.func @added(%x: tensor<4x5xf32>, %places: tensor<6x5xi64>, %u: tensor<6x5xf32>) -> tensor<4x5xf32> {
  %column = stablehlo.iota dim = 1 : tensor<6x5x1xi64>
  %row = stablehlo.reshape %places : (tensor<6x5xi64>) -> tensor<6x5x1xi64>
  %both = stablehlo.concatenate %row, %column, dim = 2 : (tensor<6x5x1xi64>, tensor<6x5x1xi64>) -> tensor<6x5x2xi64>
  %0 = "stablehlo.scatter"(%x, %both, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<6x5x2xi64>, tensor<6x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// Counting along fewer rows than there are is no batch.
// CHECK-LABEL: func.func @fewer
// CHECK: concatenate
func.func @fewer(%x: tensor<5x5xf32>, %places: tensor<4x6xi64>) -> tensor<4x6xf32> {
  %row = stablehlo.iota dim = 0 : tensor<4x6x1xi64>
  %column = stablehlo.reshape %places : (tensor<4x6xi64>) -> tensor<4x6x1xi64>
  %both = stablehlo.concatenate %row, %column, dim = 2 : (tensor<4x6x1xi64>, tensor<4x6x1xi64>) -> tensor<4x6x2xi64>
  %0 = "stablehlo.gather"(%x, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x5xf32>, tensor<4x6x2xi64>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
