// Trap: a shift by the width or more gives 0, for the arithmetic right shift the sign; a negative amount is a large one.

func.func @main() {
  %a = stablehlo.constant dense<[1, 1]> : tensor<2xi8>
  %b = stablehlo.constant dense<[8, -1]> : tensor<2xi8>
  %c = stablehlo.shift_left %a, %b : tensor<2xi8>
  check.expect_eq_const %c, dense<[0, 0]> : tensor<2xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-1, -1]> : tensor<2xi8>
  %b = stablehlo.constant dense<[8, -1]> : tensor<2xi8>
  %c = stablehlo.shift_right_logical %a, %b : tensor<2xi8>
  check.expect_eq_const %c, dense<[0, 0]> : tensor<2xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-1, 64]> : tensor<2xi8>
  %b = stablehlo.constant dense<[8, -1]> : tensor<2xi8>
  %c = stablehlo.shift_right_arithmetic %a, %b : tensor<2xi8>
  check.expect_eq_const %c, dense<[-1, 0]> : tensor<2xi8>
  func.return
}
