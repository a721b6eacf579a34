// Values: by hand.

func.func @main() {
  %y:4 = "interpreter.run_parallel"() {programs = [[@each, @each], [@each, @each]]} : () -> (tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>)
  check.expect_eq_const %y#0, dense<0> : tensor<ui32>
  check.expect_eq_const %y#1, dense<1> : tensor<ui32>
  check.expect_eq_const %y#2, dense<0> : tensor<ui32>
  check.expect_eq_const %y#3, dense<1> : tensor<ui32>
  func.return
}
func.func @each() -> tensor<ui32> {
  %y = stablehlo.partition_id : tensor<ui32>
  return %y : tensor<ui32>
}
