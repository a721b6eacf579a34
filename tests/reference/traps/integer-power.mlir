// Trap: integer power is by squaring and wraps; a negative exponent gives 0, but 1 for base 1 and 1 or -1 for base -1.

func.func @main() {
  %a = stablehlo.constant dense<[2, 2, 1, -1, -1, 0]> : tensor<6xi8>
  %b = stablehlo.constant dense<[-1, 8, -9, -2, -3, 0]> : tensor<6xi8>
  %c = stablehlo.power %a, %b : tensor<6xi8>
  check.expect_eq_const %c, dense<[0, 0, 1, 1, -1, 1]> : tensor<6xi8>
  func.return
}
