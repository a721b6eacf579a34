// Values: by hand. A token goes through a loop and a call unchanged.

func.func @main() {
  %token = stablehlo.create_token : !stablehlo.token
  %n = stablehlo.constant dense<3> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %y:2 = stablehlo.while(%t = %token, %i = %zero) : !stablehlo.token, tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %after = func.call @pass(%t) : (!stablehlo.token) -> !stablehlo.token
      stablehlo.return %after, %next : !stablehlo.token, tensor<i32>
    }
  check.expect_eq_const %y#1, dense<3> : tensor<i32>
  func.return
}
func.func private @pass(%t: !stablehlo.token) -> !stablehlo.token {
  return %t : !stablehlo.token
}
