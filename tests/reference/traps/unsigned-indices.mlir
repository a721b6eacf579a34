// Trap: indices may be unsigned, and are then what they say: 255 of ui8 is past the end, not before the start. Values: by hand.
// The specification knows indices as numbers, and XLA reads them so. The upstream interpreter extends the sign (255 as -1), which
// its tests do not show: no unsigned index in them has its highest bit set.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[2, 0]> : tensor<2xui8>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>
  }> : (tensor<3x4xi32>, tensor<2xui8>) -> tensor<2x4xi32>
  check.expect_eq_const %y, dense<[[8, 9, 10, 11], [0, 1, 2, 3]]> : tensor<2x4xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<2> : tensor<ui32>
  %y = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<3xi32>, tensor<ui32>) -> tensor<1xi32>
  check.expect_eq_const %y, dense<[3]> : tensor<1xi32>
  func.return
}

// -----

// Clamped to the end: the sign extended, it would be the start.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[255], [128], [1]]> : tensor<3x1xui8>
  %y = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 2>
  }> : (tensor<4xi32>, tensor<3x1xui8>) -> tensor<3x2xi32>
  check.expect_eq_const %y, dense<[[3, 4], [3, 4], [2, 3]]> : tensor<3x2xi32>
  %j = stablehlo.constant dense<4294967295> : tensor<ui32>
  %z = stablehlo.dynamic_slice %x, %j, sizes = [2] : (tensor<4xi32>, tensor<ui32>) -> tensor<2xi32>
  check.expect_eq_const %z, dense<[3, 4]> : tensor<2xi32>
  %u = stablehlo.constant dense<[9]> : tensor<1xi32>
  %k = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %w = stablehlo.dynamic_update_slice %x, %u, %k : (tensor<4xi32>, tensor<1xi32>, tensor<ui64>) -> tensor<4xi32>
  check.expect_eq_const %w, dense<[1, 2, 3, 9]> : tensor<4xi32>
  func.return
}

// -----

// All of the window lies outside: the sign extended, its second element would lie at the start.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[65535], [1]]> : tensor<2x1xui16>
  %u = stablehlo.constant dense<[[70, 80], [50, 60]]> : tensor<2x2xi32>
  %y = "stablehlo.scatter"(%x, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      stablehlo.return %b : tensor<i32>
  }) : (tensor<4xi32>, tensor<2x1xui16>, tensor<2x2xi32>) -> tensor<4xi32>
  check.expect_eq_const %y, dense<[1, 50, 60, 4]> : tensor<4xi32>
  func.return
}
