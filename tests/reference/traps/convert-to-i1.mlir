// Trap: to i1 anything but zero is true: NaN, fractions, and integers whose low bit is 0.

func.func @main() {
  %x = stablehlo.constant dense<[0x7FC00000, 0.25, -0.0]> : tensor<3xf32>
  %y = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %y, dense<[true, true, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[2, 256, 0]> : tensor<3xi32>
  %y = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %y, dense<[true, true, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %y = stablehlo.convert %x : (tensor<2xi1>) -> tensor<2xi8>
  check.expect_eq_const %y, dense<[1, 0]> : tensor<2xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[true]> : tensor<1xi1>
  %y = stablehlo.convert %x : (tensor<1xi1>) -> tensor<1xf32>
  check.expect_eq_const %y, dense<[1.0]> : tensor<1xf32>
  func.return
}
