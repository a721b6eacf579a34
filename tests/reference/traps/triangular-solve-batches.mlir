// Trap: each matrix of a batch has a diagonal of its own.

func.func @main() {
  %a = stablehlo.constant dense<[[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0]], [[6.0, 0.0, 0.0], [3.0, 9.0, 0.0], [-3.0, 6.0, 3.0]]]> : tensor<2x3x3xf64>
  %b = stablehlo.constant dense<[[[2.0, 4.0], [10.0, -1.0], [3.0, 0.0]], [[6.0, 12.0], [30.0, -3.0], [9.0, 0.0]]]> : tensor<2x3x2xf64>
  %x = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x3x3xf64>, tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
  check.expect_almost_eq_const %x, dense<[[[1.0, 2.0], [3.0, -1.0], [-2.0, 4.0]], [[1.0, 2.0], [3.0, -1.0], [-2.0, 4.0]]]> : tensor<2x3x2xf64>, tolerance = 1.0e-14
  func.return
}
