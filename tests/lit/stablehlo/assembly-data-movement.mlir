// Every form of text is read and printed back unchanged, also after a detour through the generic
// form and through MLIR bytecode.
// RUN: grep -v '^//' %s > %t.text
// RUN: cupel opt %s | diff %t.text -
// RUN: cupel opt %s --emit=generic | cupel opt - | diff %t.text -
// RUN: cupel opt %s --emit=bytecode | cupel opt - | diff %t.text -
module {
  func.func @shapes(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>, %arg2: tensor<i64>, %arg3: tensor<?x4xf32>, %arg4: tensor<2xi32>, %arg5: tensor<3xi64>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<3x4xf32>) -> tensor<3x4x4xi8>
    %1 = stablehlo.broadcast %arg0, sizes = [1, 2] : (tensor<3x4xf32>) -> tensor<1x2x3x4xf32>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
    %3 = stablehlo.dynamic_broadcast_in_dim %arg3, %arg5, dims = [1, 2] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
    %4 = stablehlo.concatenate %arg0, %arg3, dim = 0 : (tensor<3x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %5 = stablehlo.reshape %arg0 : (tensor<3x4xf32>) -> tensor<2x6xf32>
    %6 = stablehlo.dynamic_reshape %arg3, %arg4 : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %7 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<3x4xf32>
    %8 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %9 = stablehlo.slice %arg0 [1:3, 0:4:2] : (tensor<3x4xf32>) -> tensor<2x2xf32>
    %10 = stablehlo.slice %arg1 [] : (tensor<f32>) -> tensor<f32>
    %11 = stablehlo.dynamic_slice %arg0, %arg2, %arg2, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
    %12 = stablehlo.dynamic_slice %arg1,  sizes = [] : (tensor<f32>) -> tensor<f32>
    %13 = stablehlo.dynamic_update_slice %arg0, %11, %arg2, %arg2 : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<3x4xf32>
    %14 = stablehlo.real_dynamic_slice %arg3, %arg4, %arg4, %arg4 : (tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    %15 = stablehlo.pad %arg0, %arg1, low = [1, -1], high = [0, 2], interior = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x8xf32>
    %16 = stablehlo.dynamic_pad %arg3, %arg1, %arg4, %arg4, %arg4 : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
    %17 = stablehlo.get_dimension_size %arg3, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %18 = stablehlo.set_dimension_size %arg0, %17, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
    return
  }
  func.func @indexed(%arg0: tensor<3x4x2xf32>, %arg1: tensor<2x3x2xi64>, %arg2: tensor<2x3x2x2xf32>, %arg3: tensor<3xi32>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2, 2>}> : (tensor<3x4x2xf32>, tensor<2x3x2xi64>) -> tensor<2x3x2x2xf32>
    %1 = "stablehlo.dynamic_gather"(%arg0, %arg1, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 2>}> : (tensor<3x4x2xf32>, tensor<2x3x2xi64>, tensor<3xi32>) -> tensor<2x3x?x?xf32>
    %2 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], inserted_window_dims = [0], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 2>, unique_indices = true}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      stablehlo.return %arg5 : tensor<f32>
    }) : (tensor<3x4x2xf32>, tensor<2x3x2xi64>, tensor<2x3x2x2xf32>) -> tensor<3x4x2xf32>
    %3 = "stablehlo.torch_index_select"(%arg0, %arg1) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<3x4x2xf32>, tensor<2x3x2xi64>) -> tensor<2x3x2x4x2xf32>
    %4:2 = "stablehlo.sort"(%arg0, %arg0) <{dimension = -1 : i64, is_stable = true}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>):
      %5 = stablehlo.compare  GT, %arg4, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }) : (tensor<3x4x2xf32>, tensor<3x4x2xf32>) -> (tensor<3x4x2xf32>, tensor<3x4x2xf32>)
    return
  }
}
