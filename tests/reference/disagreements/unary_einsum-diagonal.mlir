// The diagonal of a matrix (values: numpy.einsum). Refused today: an einsum needs distinct letters in each operand.

func.func @main() {
  %a = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]> : tensor<3x3xf32>
  %y = stablehlo.unary_einsum %a, config = "ii->i" : (tensor<3x3xf32>) -> tensor<3xf32>
  check.expect_eq_const %y, dense<[0.0, 4.0, 8.0]> : tensor<3xf32>
  func.return
}
