// Trap: count_leading_zeros and popcnt count within the width of the type, i4 too.

func.func @main() {
  %x = stablehlo.constant dense<[1, -1, 0]> : tensor<3xi4>
  %y = stablehlo.count_leading_zeros %x : tensor<3xi4>
  %z = stablehlo.convert %y : (tensor<3xi4>) -> tensor<3xi32>
  check.expect_eq_const %z, dense<[3, 0, 4]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1, -1, 0]> : tensor<3xi4>
  %y = stablehlo.popcnt %x : tensor<3xi4>
  %z = stablehlo.convert %y : (tensor<3xi4>) -> tensor<3xi32>
  check.expect_eq_const %z, dense<[1, 4, 0]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1]> : tensor<1xi16>
  %y = stablehlo.count_leading_zeros %x : tensor<1xi16>
  check.expect_eq_const %y, dense<[15]> : tensor<1xi16>
  func.return
}
