// Values: by hand. Tokens carry no value; the data beside them must stay.

func.func @main() {
  %a = stablehlo.create_token : !stablehlo.token
  %b = stablehlo.create_token : !stablehlo.token
  %both = stablehlo.after_all %a, %b : !stablehlo.token
  %none = stablehlo.after_all : !stablehlo.token
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y:2 = stablehlo.optimization_barrier %x, %both : tensor<2xi32>, !stablehlo.token
  check.expect_eq_const %y#0, dense<[1, 2]> : tensor<2xi32>
  func.return
}
