// Rows are looked up, cut, padded, joined, written back and sorted with their places.
module @data_movement {
  func.func @main(%table: tensor<24x10xf32>, %places: tensor<7x1xi32>, %rows: tensor<7x10xf32>, %at: tensor<i32>) -> (tensor<24x10xf32>, tensor<9x12xf32>, tensor<9x12xi32>, tensor<3x10xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %nothing = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %found = "stablehlo.gather"(%table, %places) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 10>}> : (tensor<24x10xf32>, tensor<7x1xi32>) -> tensor<7x10xf32>
    %sum = stablehlo.add %found, %rows : tensor<7x10xf32>
    %written = "stablehlo.scatter"(%table, %places, %sum) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%current: tensor<f32>, %update: tensor<f32>):
      %most = stablehlo.maximum %current, %update : tensor<f32>
      stablehlo.return %most : tensor<f32>
    }) : (tensor<24x10xf32>, tensor<7x1xi32>, tensor<7x10xf32>) -> tensor<24x10xf32>
    %window = stablehlo.dynamic_slice %written, %at, %zero, sizes = [3, 10] : (tensor<24x10xf32>, tensor<i32>, tensor<i32>) -> tensor<3x10xf32>
    %few = stablehlo.slice %sum [0:6, 0:10] : (tensor<7x10xf32>) -> tensor<6x10xf32>
    %joined = stablehlo.concatenate %few, %window, dim = 0 : (tensor<6x10xf32>, tensor<3x10xf32>) -> tensor<9x10xf32>
    %padded = stablehlo.pad %joined, %nothing, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<9x10xf32>, tensor<f32>) -> tensor<9x12xf32>
    %turned = stablehlo.reverse %padded, dims = [1] : tensor<9x12xf32>
    %order = stablehlo.iota dim = 1 : tensor<9x12xi32>
    %sorted:2 = "stablehlo.sort"(%turned, %order) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
      %less = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<9x12xf32>, tensor<9x12xi32>) -> (tensor<9x12xf32>, tensor<9x12xi32>)
    %replaced = stablehlo.dynamic_update_slice %written, %window, %zero, %zero : (tensor<24x10xf32>, tensor<3x10xf32>, tensor<i32>, tensor<i32>) -> tensor<24x10xf32>
    %last = stablehlo.exponential %window : tensor<3x10xf32>
    return %replaced, %sorted#0, %sorted#1, %last : tensor<24x10xf32>, tensor<9x12xf32>, tensor<9x12xi32>, tensor<3x10xf32>
  }
}
