// Trap: abs of the smallest signed integer is that integer.

func.func @main() {
  %x = stablehlo.constant dense<[-128]> : tensor<1xi8>
  %y = stablehlo.abs %x : tensor<1xi8>
  check.expect_eq_const %y, dense<[-128]> : tensor<1xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-9223372036854775808]> : tensor<1xi64>
  %y = stablehlo.abs %x : tensor<1xi64>
  check.expect_eq_const %y, dense<[-9223372036854775808]> : tensor<1xi64>
  func.return
}
