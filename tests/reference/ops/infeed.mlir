// Values: by hand. Each infeed takes the next of the queue.

func.func @main() {
  %y:2 = "interpreter.run_parallel"() {infeed = [@first, @second], programs = [[@each]]} : () -> (tensor<2xi32>, tensor<i1>)
  check.expect_eq_const %y#0, dense<[5, 6]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<true> : tensor<i1>
  func.return
}
func.func @each() -> (tensor<2xi32>, tensor<i1>) {
  %t = stablehlo.create_token : !stablehlo.token
  %a, %t1 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  %b, %t2 = "stablehlo.infeed"(%t1) {infeed_config = ""} : (!stablehlo.token) -> (tensor<i1>, !stablehlo.token)
  return %a, %b : tensor<2xi32>, tensor<i1>
}
func.func @first() -> tensor<2xi32> {
  %x = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
  return %x : tensor<2xi32>
}
func.func @second() -> tensor<i1> {
  %x = stablehlo.constant dense<true> : tensor<i1>
  return %x : tensor<i1>
}
