// Trap: clamp is minimum(maximum(x, lo), hi): NaN in any of the three is handed on, and with lo > hi the result is hi.

func.func @main() {
  %lo = stablehlo.constant dense<[0.0, 0x7FC00000, 0.0, 5.0]> : tensor<4xf32>
  %x = stablehlo.constant dense<[0x7FC00000, 1.0, 1.0, 3.0]> : tensor<4xf32>
  %hi = stablehlo.constant dense<[2.0, 2.0, 0x7FC00000, 2.0]> : tensor<4xf32>
  %y = stablehlo.clamp %lo, %x, %hi : tensor<4xf32>
  check.expect_almost_eq_const %y, dense<[0x7FC00000, 0x7FC00000, 0x7FC00000, 2.0]> : tensor<4xf32>, tolerance = 0.0
  func.return
}
