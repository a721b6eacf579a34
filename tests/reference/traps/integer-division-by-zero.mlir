// Trap: x / 0 and minimum / -1 are left to the implementation; they must not end the process.
// We give what XLA gives: all ones for x / 0, x for x % 0, the minimum and 0 for minimum / -1 and minimum % -1.

func.func @main() {
  %a = stablehlo.constant dense<[5, -5, 0]> : tensor<3xi32>
  %b = stablehlo.constant dense<[0, 0, 0]> : tensor<3xi32>
  %c = stablehlo.divide %a, %b : tensor<3xi32>
  check.expect_eq_const %c, dense<[-1, -1, -1]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[5]> : tensor<1xui8>
  %b = stablehlo.constant dense<[0]> : tensor<1xui8>
  %c = stablehlo.divide %a, %b : tensor<1xui8>
  check.expect_eq_const %c, dense<[255]> : tensor<1xui8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[5, -5]> : tensor<2xi32>
  %b = stablehlo.constant dense<[0, 0]> : tensor<2xi32>
  %c = stablehlo.remainder %a, %b : tensor<2xi32>
  check.expect_eq_const %c, dense<[5, -5]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-2147483648]> : tensor<1xi32>
  %b = stablehlo.constant dense<[-1]> : tensor<1xi32>
  %c = stablehlo.divide %a, %b : tensor<1xi32>
  check.expect_eq_const %c, dense<[-2147483648]> : tensor<1xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-2147483648]> : tensor<1xi32>
  %b = stablehlo.constant dense<[-1]> : tensor<1xi32>
  %c = stablehlo.remainder %a, %b : tensor<1xi32>
  check.expect_eq_const %c, dense<[0]> : tensor<1xi32>
  func.return
}
