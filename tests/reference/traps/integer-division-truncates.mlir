// Trap: integer divide truncates toward zero and remainder has the sign of the dividend (not Python's rule).

func.func @main() {
  %a = stablehlo.constant dense<[-7, 7]> : tensor<2xi32>
  %b = stablehlo.constant dense<[2, -2]> : tensor<2xi32>
  %c = stablehlo.divide %a, %b : tensor<2xi32>
  check.expect_eq_const %c, dense<[-3, -3]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-7, 7]> : tensor<2xi32>
  %b = stablehlo.constant dense<[2, -2]> : tensor<2xi32>
  %c = stablehlo.remainder %a, %b : tensor<2xi32>
  check.expect_eq_const %c, dense<[-1, 1]> : tensor<2xi32>
  func.return
}
