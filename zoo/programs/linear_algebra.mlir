// Solves A x = b for a symmetric positive definite A: Cholesky, then two triangular systems.
module @linear_algebra {
  func.func @main(%a: tensor<2x3x3xf64>, %b: tensor<2x3x1xf64>) -> tensor<2x3x1xf64> {
    %l = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf64>
    %y = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x3x3xf64>, tensor<2x3x1xf64>) -> tensor<2x3x1xf64>
    %x = "stablehlo.triangular_solve"(%l, %y) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<2x3x3xf64>, tensor<2x3x1xf64>) -> tensor<2x3x1xf64>
    return %x : tensor<2x3x1xf64>
  }
}
