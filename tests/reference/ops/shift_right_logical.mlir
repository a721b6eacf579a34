// Values: by hand.

func.func @main() {
  %a = stablehlo.constant dense<[16, -16, -1, -128]> : tensor<4xi8>
  %b = stablehlo.constant dense<[2, 2, 7, 7]> : tensor<4xi8>
  %c = stablehlo.shift_right_logical %a, %b : tensor<4xi8>
  check.expect_eq_const %c, dense<[4, 60, 1, 1]> : tensor<4xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[255, 128]> : tensor<2xui8>
  %b = stablehlo.constant dense<[4, 7]> : tensor<2xui8>
  %c = stablehlo.shift_right_logical %a, %b : tensor<2xui8>
  check.expect_eq_const %c, dense<[15, 1]> : tensor<2xui8>
  func.return
}

// -----

// Amounts of the width and more give zero.
func.func @main() {
  %a = stablehlo.constant dense<[5, -5]> : tensor<2xi32>
  %b = stablehlo.constant dense<[32, -1]> : tensor<2xi32>
  %c = stablehlo.shift_right_logical %a, %b : tensor<2xi32>
  check.expect_eq_const %c, dense<[0, 0]> : tensor<2xi32>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xi32>
  %b = stablehlo.constant dense<> : tensor<0x2xi32>
  %c = stablehlo.shift_right_logical %a, %b : tensor<0x2xi32>
  check.expect_eq_const %c, dense<> : tensor<0x2xi32>
  func.return
}
