// Dimensions that index vectors only count along are taken whole, and what is the same along them is computed once.
// RUN: cupel opt %s --widen-windows | FileCheck %s

// CHECK-LABEL: func.func @gather
// CHECK-NOT: tensor<2x3x4x6xi32>
// CHECK: stablehlo.concatenate {{.*}}, dim = 3 : (tensor<2x4x6x1xi32>, tensor<2x4x6x1xi32>, tensor<2x4x6x1xi32>) -> tensor<2x4x6x3xi32>
// CHECK: "stablehlo.gather"(%arg0, {{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2, 3], start_index_map = [0, 2, 3], index_vector_dim = 3>, {{.*}}slice_sizes = array<i64: 1, 3, 1, 1>}>
// What else is made of the places is made once, too.
// CHECK: %[[W:.*]] = stablehlo.broadcast_in_dim {{.*}} : (tensor<2x1x4x6xf32>) -> tensor<2x3x4x6xf32>
// CHECK: stablehlo.multiply {{.*}}, %[[W]]
func.func @gather(%x: tensor<2x3x9x7xf32>, %i: tensor<2x4x6xi32>) -> tensor<2x3x4x6xf32> {
  %n = stablehlo.iota dim = 0 : tensor<2x3x4x6x1xi32>
  %c = stablehlo.iota dim = 1 : tensor<2x3x4x6x1xi32>
  %wide = stablehlo.broadcast_in_dim %i, dims = [0, 2, 3] : (tensor<2x4x6xi32>) -> tensor<2x3x4x6xi32>
  %up = stablehlo.add %wide, %wide : tensor<2x3x4x6xi32>
  %h = stablehlo.reshape %up : (tensor<2x3x4x6xi32>) -> tensor<2x3x4x6x1xi32>
  %w = stablehlo.reshape %wide : (tensor<2x3x4x6xi32>) -> tensor<2x3x4x6x1xi32>
  %all = stablehlo.concatenate %n, %c, %h, %w, dim = 4 : (tensor<2x3x4x6x1xi32>, tensor<2x3x4x6x1xi32>, tensor<2x3x4x6x1xi32>, tensor<2x3x4x6x1xi32>) -> tensor<2x3x4x6x4xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2, 3], start_index_map = [0, 1, 2, 3], index_vector_dim = 4>, slice_sizes = array<i64: 1, 1, 1, 1>}> : (tensor<2x3x9x7xf32>, tensor<2x3x4x6x4xi32>) -> tensor<2x3x4x6xf32>
  %weight = stablehlo.convert %up : (tensor<2x3x4x6xi32>) -> tensor<2x3x4x6xf32>
  %1 = stablehlo.multiply %0, %weight : tensor<2x3x4x6xf32>
  return %1 : tensor<2x3x4x6xf32>
}

// CHECK-LABEL: func.func @scatter
// CHECK: "stablehlo.scatter"(%arg0, {{.*}}, %arg2) <{{.*}}update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1
func.func @scatter(%x: tensor<3x9xf32>, %i: tensor<4xi32>, %u: tensor<3x4xf32>) -> tensor<3x9xf32> {
  %c = stablehlo.iota dim = 0 : tensor<3x4x1xi32>
  %h = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<4xi32>) -> tensor<3x4x1xi32>
  %all = stablehlo.concatenate %c, %h, dim = 2 : (tensor<3x4x1xi32>, tensor<3x4x1xi32>) -> tensor<3x4x2xi32>
  %0 = "stablehlo.scatter"(%x, %all, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<3x9xf32>, tensor<3x4x2xi32>, tensor<3x4xf32>) -> tensor<3x9xf32>
  return %0 : tensor<3x9xf32>
}

// Another part changes along the dimension, or not all of it is counted: nothing is taken whole.
// CHECK-LABEL: func.func @changes
// CHECK: collapsed_slice_dims = [0, 1]
// CHECK: collapsed_slice_dims = [0, 1]
func.func @changes(%x: tensor<3x9xf32>, %y: tensor<5x9xf32>, %i: tensor<3x4xi32>, %j: tensor<4xi32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %c = stablehlo.iota dim = 0 : tensor<3x4x1xi32>
  %h = stablehlo.reshape %i : (tensor<3x4xi32>) -> tensor<3x4x1xi32>
  %all = stablehlo.concatenate %c, %h, dim = 2 : (tensor<3x4x1xi32>, tensor<3x4x1xi32>) -> tensor<3x4x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x9xf32>, tensor<3x4x2xi32>) -> tensor<3x4xf32>
  %k = stablehlo.broadcast_in_dim %j, dims = [1] : (tensor<4xi32>) -> tensor<3x4x1xi32>
  %few = stablehlo.concatenate %c, %k, dim = 2 : (tensor<3x4x1xi32>, tensor<3x4x1xi32>) -> tensor<3x4x2xi32>
  %1 = "stablehlo.gather"(%y, %few) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x9xf32>, tensor<3x4x2xi32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
}
