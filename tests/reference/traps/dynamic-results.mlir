// Trap: a result type with ? takes its size from the operands at run time.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %start = stablehlo.constant dense<[1]> : tensor<1xi64>
  %limit = stablehlo.constant dense<[3]> : tensor<1xi64>
  %stride = stablehlo.constant dense<[1]> : tensor<1xi64>
  %y = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<4xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  %z = stablehlo.negate %y : tensor<?xi32>
  %shape = stablehlo.constant dense<[2]> : tensor<1xi64>
  %w = stablehlo.dynamic_reshape %z, %shape : (tensor<?xi32>, tensor<1xi64>) -> tensor<2xi32>
  check.expect_eq_const %w, dense<[-2, -3]> : tensor<2xi32>
  func.return
}
