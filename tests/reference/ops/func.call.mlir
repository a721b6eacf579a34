// Values: by hand. Calls in calls, several results.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y:2 = func.call @both(%x) : (tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %y#0, dense<[2, 4]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<[4, 8]> : tensor<2xi32>
  func.return
}
func.func private @both(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %a = call @twice(%x) : (tensor<2xi32>) -> tensor<2xi32>
  %b = call @twice(%a) : (tensor<2xi32>) -> tensor<2xi32>
  return %a, %b : tensor<2xi32>, tensor<2xi32>
}
func.func private @twice(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = stablehlo.add %x, %x : tensor<2xi32>
  return %y : tensor<2xi32>
}
