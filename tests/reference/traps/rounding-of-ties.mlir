// Trap: round_nearest_afz takes ties away from zero, round_nearest_even to the even neighbour.

func.func @main() {
  %x = stablehlo.constant dense<[0.5, 1.5, 2.5, -0.5, -2.5]> : tensor<5xf32>
  %y = stablehlo.round_nearest_afz %x : tensor<5xf32>
  check.expect_eq_const %y, dense<[1.0, 2.0, 3.0, -1.0, -3.0]> : tensor<5xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.5, 1.5, 2.5, -0.5, -2.5]> : tensor<5xf32>
  %y = stablehlo.round_nearest_even %x : tensor<5xf32>
  check.expect_eq_const %y, dense<[0.0, 2.0, 2.0, 0.0, -2.0]> : tensor<5xf32>
  func.return
}
