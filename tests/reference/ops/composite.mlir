// Values: by hand. A composite is what its decomposition computes, also inside another one.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %y = stablehlo.composite "mine.add_two" %x {composite_attributes = {n = 2 : i64}, decomposition = @add_two} : (tensor<2xi64>) -> tensor<2xi64>
  check.expect_eq_const %y, dense<[3, 4]> : tensor<2xi64>
  func.return
}
func.func private @add_two(%x: tensor<2xi64>) -> tensor<2xi64> {
  %a = stablehlo.composite "mine.add_one" %x {decomposition = @add_one, version = 1 : i32} : (tensor<2xi64>) -> tensor<2xi64>
  %b = stablehlo.composite "mine.add_one" %a {decomposition = @add_one, version = 1 : i32} : (tensor<2xi64>) -> tensor<2xi64>
  return %b : tensor<2xi64>
}
func.func private @add_one(%x: tensor<2xi64>) -> tensor<2xi64> {
  %one = stablehlo.constant dense<1> : tensor<2xi64>
  %y = stablehlo.add %x, %one : tensor<2xi64>
  return %y : tensor<2xi64>
}
