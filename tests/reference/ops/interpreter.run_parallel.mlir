// Values: by hand. Arguments and results are in the order of the processes, replicas outermost.

func.func @main() {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<2> : tensor<i32>
  %y:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@negated], [@doubled]]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  check.expect_eq_const %y#0, dense<-1> : tensor<i32>
  check.expect_eq_const %y#1, dense<4> : tensor<i32>
  func.return
}
func.func @negated(%x: tensor<i32>) -> tensor<i32> {
  %y = stablehlo.negate %x : tensor<i32>
  return %y : tensor<i32>
}
func.func @doubled(%x: tensor<i32>) -> tensor<i32> {
  %y = stablehlo.add %x, %x : tensor<i32>
  return %y : tensor<i32>
}
