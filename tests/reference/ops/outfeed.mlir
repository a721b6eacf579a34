// Values: by hand. What is sent goes nowhere; the program goes on.

func.func @main() {
  %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = "interpreter.run_parallel"(%x0) {programs = [[@each]]} : (tensor<2xi32>) -> (tensor<2xi32>)
  check.expect_eq_const %y, dense<[2, 4]> : tensor<2xi32>
  func.return
}
func.func @each(%x: tensor<2xi32>) -> tensor<2xi32> {
  %t = stablehlo.create_token : !stablehlo.token
  %t1 = "stablehlo.outfeed"(%x, %t) {outfeed_config = ""} : (tensor<2xi32>, !stablehlo.token) -> !stablehlo.token
  %y = stablehlo.add %x, %x : tensor<2xi32>
  return %y : tensor<2xi32>
}
