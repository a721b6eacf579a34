// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 64, 127, -1]> : tensor<5xi8>
  %y = stablehlo.count_leading_zeros %x : tensor<5xi8>
  check.expect_eq_const %y, dense<[8, 7, 1, 1, 0]> : tensor<5xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 255, 65535]> : tensor<4xui16>
  %y = stablehlo.count_leading_zeros %x : tensor<4xui16>
  check.expect_eq_const %y, dense<[16, 15, 8, 0]> : tensor<4xui16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0, 1, -2147483648]> : tensor<3xi32>
  %y = stablehlo.count_leading_zeros %x : tensor<3xi32>
  check.expect_eq_const %y, dense<[32, 31, 0]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 1099511627776]> : tensor<3xui64>
  %y = stablehlo.count_leading_zeros %x : tensor<3xui64>
  check.expect_eq_const %y, dense<[64, 63, 23]> : tensor<3xui64>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xi32>
  %y = stablehlo.count_leading_zeros %x : tensor<2x0xi32>
  check.expect_eq_const %y, dense<> : tensor<2x0xi32>
  func.return
}
