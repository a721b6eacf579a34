// Trap: a composite of any name is what its decomposition computes.

func.func @main() {
  %x = stablehlo.constant dense<3> : tensor<i32>
  %y = stablehlo.composite "chlo.negate" %x {decomposition = @square} : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %y, dense<9> : tensor<i32>
  func.return
}
func.func private @square(%x: tensor<i32>) -> tensor<i32> {
  %y = stablehlo.multiply %x, %x : tensor<i32>
  return %y : tensor<i32>
}
