// Values: by hand.

func.func @main() {
  %a = stablehlo.constant dense<[1, -1, 3, 127]> : tensor<4xi8>
  %b = stablehlo.constant dense<[1, 4, 7, 1]> : tensor<4xi8>
  %c = stablehlo.shift_left %a, %b : tensor<4xi8>
  check.expect_eq_const %c, dense<[2, -16, -128, -2]> : tensor<4xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1, 255]> : tensor<2xui8>
  %b = stablehlo.constant dense<[7, 4]> : tensor<2xui8>
  %c = stablehlo.shift_left %a, %b : tensor<2xui8>
  check.expect_eq_const %c, dense<[128, 240]> : tensor<2xui8>
  func.return
}

// -----

// Amounts of the width and more give zero.
func.func @main() {
  %a = stablehlo.constant dense<[1, -1, 5]> : tensor<3xi32>
  %b = stablehlo.constant dense<[32, 33, -1]> : tensor<3xi32>
  %c = stablehlo.shift_left %a, %b : tensor<3xi32>
  check.expect_eq_const %c, dense<[0, 0, 0]> : tensor<3xi32>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xi32>
  %b = stablehlo.constant dense<> : tensor<0x2xi32>
  %c = stablehlo.shift_left %a, %b : tensor<0x2xi32>
  check.expect_eq_const %c, dense<> : tensor<0x2xi32>
  func.return
}
