// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 127, -1, -128]> : tensor<5xi8>
  %y = stablehlo.popcnt %x : tensor<5xi8>
  check.expect_eq_const %y, dense<[0, 1, 7, 8, 1]> : tensor<5xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0, 61680, 65535]> : tensor<3xui16>
  %y = stablehlo.popcnt %x : tensor<3xui16>
  check.expect_eq_const %y, dense<[0, 8, 16]> : tensor<3xui16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0, -1, 305419896]> : tensor<3xi32>
  %y = stablehlo.popcnt %x : tensor<3xi32>
  check.expect_eq_const %y, dense<[0, 32, 13]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[9223372036854775808, 1099511627779]> : tensor<2xui64>
  %y = stablehlo.popcnt %x : tensor<2xui64>
  check.expect_eq_const %y, dense<[1, 3]> : tensor<2xui64>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xi32>
  %y = stablehlo.popcnt %x : tensor<2x0xi32>
  check.expect_eq_const %y, dense<> : tensor<2x0xi32>
  func.return
}
