// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %y = stablehlo.not %x : tensor<2xi1>
  check.expect_eq_const %y, dense<[false, true]> : tensor<2xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0, -1, 5, -128]> : tensor<4xi8>
  %y = stablehlo.not %x : tensor<4xi8>
  check.expect_eq_const %y, dense<[-1, 0, -6, 127]> : tensor<4xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0, 255, 15]> : tensor<3xui8>
  %y = stablehlo.not %x : tensor<3xui8>
  check.expect_eq_const %y, dense<[255, 0, 240]> : tensor<3xui8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0, 1099511627776]> : tensor<2xi64>
  %y = stablehlo.not %x : tensor<2xi64>
  check.expect_eq_const %y, dense<[-1, -1099511627777]> : tensor<2xi64>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xi32>
  %y = stablehlo.not %x : tensor<2x0xi32>
  check.expect_eq_const %y, dense<> : tensor<2x0xi32>
  func.return
}
