// Parts of index vectors that point into neighbouring dimensions are one number.
// RUN: cupel opt %s --join-places | FileCheck %s

// There is one image: its number says nothing. Places outside are held inside, each part by itself.
// CHECK-LABEL: func.func @gather
// CHECK: %[[Y:.*]] = stablehlo.minimum {{.*}} : tensor<4x6xi64>
// CHECK: %[[Y32:.*]] = stablehlo.convert %[[Y]] : (tensor<4x6xi64>) -> tensor<4x6xi32>
// CHECK: stablehlo.multiply %[[Y32]], {{.*}} : tensor<4x6xi32>
// CHECK: %[[PLACE:.*]] = stablehlo.add {{.*}} : tensor<4x6xi32>
// CHECK: %[[AT:.*]] = stablehlo.reshape %[[PLACE]] : (tensor<4x6xi32>) -> tensor<4x6x1xi32>
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<1x3x9x7xf32>) -> tensor<3x63xf32>
// CHECK: "stablehlo.gather"(%[[X]], %[[AT]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, {{.*}}slice_sizes = array<i64: 3, 1>}>
func.func @gather(%x: tensor<1x3x9x7xf32>, %n: tensor<4x6x1xi64>, %y: tensor<4x6x1xi64>, %z: tensor<4x6x1xi64>) -> tensor<3x4x6xf32> {
  %all = stablehlo.concatenate %n, %y, %z, dim = 2 : (tensor<4x6x1xi64>, tensor<4x6x1xi64>, tensor<4x6x1xi64>) -> tensor<4x6x3xi64>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0, 2, 3], start_index_map = [0, 2, 3], index_vector_dim = 2>, slice_sizes = array<i64: 1, 3, 1, 1>}> : (tensor<1x3x9x7xf32>, tensor<4x6x3xi64>) -> tensor<3x4x6xf32>
  return %0 : tensor<3x4x6xf32>
}

// The number of the image counts along the batch, and stays; the others come in another order.
// CHECK-LABEL: func.func @counted
// CHECK: stablehlo.concatenate {{.*}}, dim = 2 : (tensor<2x6x1xi32>, tensor<2x6x1xi32>) -> tensor<2x6x2xi32>
// CHECK: "stablehlo.gather"({{.*}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, {{.*}}slice_sizes = array<i64: 1, 1>}> : (tensor<2x63xf32>
func.func @counted(%x: tensor<2x9x7xf32>, %y: tensor<2x6x1xi32>, %z: tensor<2x6x1xi32>) -> tensor<2x6xf32> {
  %n = stablehlo.iota dim = 0 : tensor<2x6x1xi32>
  %all = stablehlo.concatenate %n, %z, %y, dim = 2 : (tensor<2x6x1xi32>, tensor<2x6x1xi32>, tensor<2x6x1xi32>) -> tensor<2x6x3xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2], start_index_map = [0, 2, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x9x7xf32>, tensor<2x6x3xi32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// Updates that go outside along one dimension go nowhere, not into the next row.
// CHECK-LABEL: func.func @scatter
// CHECK: stablehlo.compare LT
// CHECK: stablehlo.or
// CHECK: %[[PLACE:.*]] = stablehlo.select {{.*}} : tensor<6xi1>, tensor<6xi32>
// CHECK: %[[AT:.*]] = stablehlo.reshape %[[PLACE]] : (tensor<6xi32>) -> tensor<6x1xi32>
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<5x9x7xf32>) -> tensor<5x63xf32>
// CHECK: "stablehlo.scatter"(%[[X]], %[[AT]], %arg3) <{{.*}}update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1
// CHECK: stablehlo.reshape {{.*}} : (tensor<5x63xf32>) -> tensor<5x9x7xf32>
func.func @scatter(%x: tensor<5x9x7xf32>, %y: tensor<6x1xi32>, %z: tensor<6x1xi32>, %u: tensor<5x6xf32>) -> tensor<5x9x7xf32> {
  %all = stablehlo.concatenate %y, %z, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
  %0 = "stablehlo.scatter"(%x, %all, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<5x9x7xf32>, tensor<6x2xi32>, tensor<5x6xf32>) -> tensor<5x9x7xf32>
  return %0 : tensor<5x9x7xf32>
}

// Windows reach further than one element, or lie between: nothing is joined. An update of the one image there is may still go outside.
// CHECK-LABEL: func.func @apart
// CHECK: start_index_map = [0, 2]
// CHECK: start_index_map = [0, 1]
// CHECK: scatter_dims_to_operand_dims = [0, 1]
func.func @apart(%x: tensor<4x3x9xf32>, %m: tensor<4x9xf32>, %one: tensor<1x9xf32>, %y: tensor<6x1xi32>, %z: tensor<6x1xi32>, %u: tensor<6xf32>) -> (tensor<6x3xf32>, tensor<6x2xf32>, tensor<1x9xf32>) {
  %n = stablehlo.iota dim = 0 : tensor<6x1xi32>
  %all = stablehlo.concatenate %y, %z, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3, 1>}> : (tensor<4x3x9xf32>, tensor<6x2xi32>) -> tensor<6x3xf32>
  %1 = "stablehlo.gather"(%m, %all) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<4x9xf32>, tensor<6x2xi32>) -> tensor<6x2xf32>
  %some = stablehlo.concatenate %y, %n, dim = 1 : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
  %2 = "stablehlo.scatter"(%one, %some, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<1x9xf32>, tensor<6x2xi32>, tensor<6xf32>) -> tensor<1x9xf32>
  return %0, %1, %2 : tensor<6x3xf32>, tensor<6x2xf32>, tensor<1x9xf32>
}

// As many pieces as numbers, and not one number each: they are left as they are.
// CHECK-LABEL: func.func @uneven
// CHECK: start_index_map = [0, 1]
func.func @uneven(%m: tensor<4x9xf32>, %both: tensor<6x2xi32>, %none: tensor<6x0xi32>) -> tensor<6xf32> {
  %all = stablehlo.concatenate %both, %none, dim = 1 : (tensor<6x2xi32>, tensor<6x0xi32>) -> tensor<6x2xi32>
  %0 = "stablehlo.gather"(%m, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x9xf32>, tensor<6x2xi32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
