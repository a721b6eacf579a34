// A gather by a grid of index vectors is one gather for each dimension.
// RUN: cupel opt %s --separate-gathers | FileCheck %s
// RUN: cupel opt %s --separate-gathers --gathers-as-moves | FileCheck %s --check-prefix=MOVES

// Fewest first: of the first dimension 1 of 2 is taken, of the second 3 of 3, of the third 6 of 4.
// CHECK-LABEL: func.func @grid
// CHECK-NOT: stablehlo.concatenate
// CHECK: %[[ONE:.*]] = stablehlo.constant dense<1> : tensor<1xi64>
// CHECK: %[[A:.*]] = "stablehlo.gather"(%arg0, %[[ONE]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, {{.*}}slice_sizes = array<i64: 1, 3, 4>}> : (tensor<2x3x4xf32>, tensor<1xi64>) -> tensor<1x3x4xf32>
// CHECK: %[[COUNT:.*]] = stablehlo.constant dense<[0, 1, 2]> : tensor<3xi64>
// CHECK: %[[B:.*]] = "stablehlo.gather"(%[[A]], %[[COUNT]]) {{.*}} -> tensor<1x3x4xf32>
// CHECK: %[[C:.*]] = "stablehlo.gather"(%[[B]], %arg1) {{.*}} -> tensor<1x3x6xf32>
// CHECK: %[[D:.*]] = stablehlo.reshape %[[C]] : (tensor<1x3x6xf32>) -> tensor<3x6xf32>
// CHECK: %[[E:.*]] = stablehlo.broadcast_in_dim %[[D]], dims = [2, 0] : (tensor<3x6xf32>) -> tensor<6x5x3xf32>
// CHECK: return %[[E]]
// MOVES-LABEL: func.func @grid
// MOVES: stablehlo.slice %arg0 [1:2, 0:3, 0:4]
// MOVES-COUNT-1: "stablehlo.gather"
func.func @grid(%x: tensor<2x3x4xf32>, %at: tensor<6xi64>) -> tensor<6x5x3xf32> {
  %one = stablehlo.constant dense<1> : tensor<6x5x3x1xi64>
  %iota = stablehlo.iota dim = 2 : tensor<6x5x3x1xi64>
  %wide = stablehlo.broadcast_in_dim %at, dims = [0] : (tensor<6xi64>) -> tensor<6x5x3xi64>
  %places = stablehlo.reshape %wide : (tensor<6x5x3xi64>) -> tensor<6x5x3x1xi64>
  %all = stablehlo.concatenate %one, %iota, %places, dim = 3 : (tensor<6x5x3x1xi64>, tensor<6x5x3x1xi64>, tensor<6x5x3x1xi64>) -> tensor<6x5x3x3xi64>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2], start_index_map = [0, 1, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x4xf32>, tensor<6x5x3x3xi64>) -> tensor<6x5x3xf32>
  return %0 : tensor<6x5x3xf32>
}

// Whole dimensions stay where the result has them; of those that grow the inmost comes first.
// CHECK-LABEL: func.func @offset
// CHECK: "stablehlo.gather"(%arg0, %arg2) {{.*}} -> tensor<5x7x8xf32>
// CHECK: "stablehlo.gather"({{.*}}, %arg1) {{.*}} -> tensor<6x7x8xf32>
// CHECK: stablehlo.transpose {{.*}}, dims = [2, 1, 0] : (tensor<6x7x8xf32>) -> tensor<8x7x6xf32>
func.func @offset(%x: tensor<5x7x4xf32>, %a: tensor<6xi32>, %b: tensor<8xi32>) -> tensor<8x7x6xf32> {
  %p = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<6xi32>) -> tensor<8x6x1xi32>
  %q = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<8xi32>) -> tensor<8x6x1xi32>
  %all = stablehlo.concatenate %p, %q, dim = 2 : (tensor<8x6x1xi32>, tensor<8x6x1xi32>) -> tensor<8x6x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 7, 1>}> : (tensor<5x7x4xf32>, tensor<8x6x2xi32>) -> tensor<8x7x6xf32>
  return %0 : tensor<8x7x6xf32>
}

// Patches: places of each dimension are those of a patch and those within it.
// CHECK-LABEL: func.func @patches
// CHECK: %[[A:.*]] = stablehlo.reshape %arg1 : (tensor<2x3xi32>) -> tensor<6xi32>
// CHECK: %[[B:.*]] = "stablehlo.gather"(%arg0, %[[A]]) {{.*}} -> tensor<6x9xf32>
// CHECK: %[[C:.*]] = stablehlo.reshape %arg2 : (tensor<4x2xi32>) -> tensor<8xi32>
// CHECK: %[[D:.*]] = "stablehlo.gather"(%[[B]], %[[C]]) {{.*}} -> tensor<6x8xf32>
// CHECK: %[[E:.*]] = stablehlo.reshape %[[D]] : (tensor<6x8xf32>) -> tensor<2x3x4x2xf32>
// CHECK: stablehlo.transpose %[[E]], dims = [0, 3, 1, 2] : (tensor<2x3x4x2xf32>) -> tensor<2x2x3x4xf32>
func.func @patches(%x: tensor<7x9xf32>, %a: tensor<2x3xi32>, %b: tensor<4x2xi32>) -> tensor<2x2x3x4xf32> {
  %p = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<2x3xi32>) -> tensor<2x2x3x4x1xi32>
  %q = stablehlo.broadcast_in_dim %b, dims = [3, 1] : (tensor<4x2xi32>) -> tensor<2x2x3x4x1xi32>
  %all = stablehlo.concatenate %p, %q, dim = 4 : (tensor<2x2x3x4x1xi32>, tensor<2x2x3x4x1xi32>) -> tensor<2x2x3x4x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 4>, slice_sizes = array<i64: 1, 1>}> : (tensor<7x9xf32>, tensor<2x2x3x4x2xi32>) -> tensor<2x2x3x4xf32>
  return %0 : tensor<2x2x3x4xf32>
}

// Both parts go along the same dimension: a diagonal.
// CHECK-LABEL: func.func @diagonal
// CHECK: stablehlo.concatenate
func.func @diagonal(%x: tensor<6x6xf32>, %a: tensor<6xi32>, %b: tensor<6xi32>) -> tensor<6x2xf32> {
  %p = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<6xi32>) -> tensor<6x2x1xi32>
  %q = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<6xi32>) -> tensor<6x2x1xi32>
  %all = stablehlo.concatenate %p, %q, dim = 2 : (tensor<6x2x1xi32>, tensor<6x2x1xi32>) -> tensor<6x2x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<6x6xf32>, tensor<6x2x2xi32>) -> tensor<6x2xf32>
  return %0 : tensor<6x2xf32>
}

// An image becomes smaller: whole rows of it are copied first, though they are more than the result is.
// CHECK-LABEL: func.func @smaller
// CHECK-NOT: stablehlo.concatenate
// CHECK: "stablehlo.gather"(%arg0, %arg1) {{.*}} -> tensor<3x9x64xf32>
// CHECK: "stablehlo.gather"({{.*}}, %arg2) {{.*}} -> tensor<3x9x20xf32>
func.func @smaller(%x: tensor<3x40x64xf32>, %a: tensor<9xi64>, %b: tensor<20xi64>) -> tensor<3x9x20xf32> {
  %c = stablehlo.iota dim = 0 : tensor<3x9x20x1xi64>
  %p = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<9xi64>) -> tensor<3x9x20x1xi64>
  %q = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<20xi64>) -> tensor<3x9x20x1xi64>
  %all = stablehlo.concatenate %c, %p, %q, dim = 3 : (tensor<3x9x20x1xi64>, tensor<3x9x20x1xi64>, tensor<3x9x20x1xi64>) -> tensor<3x9x20x3xi64>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1, 2], start_index_map = [0, 1, 2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<3x40x64xf32>, tensor<3x9x20x3xi64>) -> tensor<3x9x20xf32>
  return %0 : tensor<3x9x20xf32>
}

// Four elements of a large table are found faster one by one.
// CHECK-LABEL: func.func @few
// CHECK: stablehlo.concatenate
func.func @few(%x: tensor<600x600xf32>, %a: tensor<2xi32>, %b: tensor<2xi32>) -> tensor<2x2xf32> {
  %p = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2xi32>) -> tensor<2x2x1xi32>
  %q = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<2xi32>) -> tensor<2x2x1xi32>
  %all = stablehlo.concatenate %p, %q, dim = 2 : (tensor<2x2x1xi32>, tensor<2x2x1xi32>) -> tensor<2x2x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<600x600xf32>, tensor<2x2x2xi32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// Two lists of rows of the same columns: those are taken once, however often their constant is written.
// CHECK-LABEL: func.func @shared
// CHECK: %[[C:.*]] = "stablehlo.gather"(%arg0, {{.*}}) {{.*}} -> tensor<5x8xf32>
// CHECK: %[[A:.*]] = "stablehlo.gather"(%[[C]], %arg1) {{.*}} -> tensor<6x8xf32>
// CHECK: %[[B:.*]] = "stablehlo.gather"(%[[C]], %arg2) {{.*}} -> tensor<6x8xf32>
// CHECK: stablehlo.add %[[A]], %[[B]]
func.func @shared(%x: tensor<5x4xf32>, %a: tensor<6xi32>, %b: tensor<6xi32>) -> tensor<6x8xf32> {
  %c = stablehlo.constant dense<[0, 0, 1, 1, 2, 2, 3, 3]> : tensor<8xi32>
  %d = stablehlo.constant dense<[0, 0, 1, 1, 2, 2, 3, 3]> : tensor<8xi32>
  %p = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<6xi32>) -> tensor<6x8x1xi32>
  %q = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<8xi32>) -> tensor<6x8x1xi32>
  %r = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<6xi32>) -> tensor<6x8x1xi32>
  %s = stablehlo.broadcast_in_dim %d, dims = [1] : (tensor<8xi32>) -> tensor<6x8x1xi32>
  %all = stablehlo.concatenate %p, %q, dim = 2 : (tensor<6x8x1xi32>, tensor<6x8x1xi32>) -> tensor<6x8x2xi32>
  %others = stablehlo.concatenate %r, %s, dim = 2 : (tensor<6x8x1xi32>, tensor<6x8x1xi32>) -> tensor<6x8x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x4xf32>, tensor<6x8x2xi32>) -> tensor<6x8xf32>
  %1 = "stablehlo.gather"(%x, %others) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x4xf32>, tensor<6x8x2xi32>) -> tensor<6x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}

// A dimension of one element repeats nothing.
// CHECK-LABEL: func.func @one
// CHECK: %[[A:.*]] = "stablehlo.gather"({{.*}}, %arg1) {{.*}} -> tensor<1x8xf32>
// CHECK-NEXT: return %[[A]]
func.func @one(%x: tensor<1x4xf32>, %a: tensor<8xi32>) -> tensor<1x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<1x8x1xi32>
  %p = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<8xi32>) -> tensor<1x8x1xi32>
  %all = stablehlo.concatenate %zero, %p, dim = 2 : (tensor<1x8x1xi32>, tensor<1x8x1xi32>) -> tensor<1x8x2xi32>
  %0 = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<1x4xf32>, tensor<1x8x2xi32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}
