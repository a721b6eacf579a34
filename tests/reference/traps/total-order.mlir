// Trap: TOTALORDER is an order of all values: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN, and NaN equals itself.

func.func @main() {
  // In rising order: -NaN, -inf, -1, -0, +0, 1, inf, NaN.
  %a = stablehlo.constant dense<[0xFFC00000, 0xFF800000, -1.0, -0.0, 0.0, 1.0, 0x7F800000]> : tensor<7xf32>
  %b = stablehlo.constant dense<[0xFF800000, -1.0, -0.0, 0.0, 1.0, 0x7F800000, 0x7FC00000]> : tensor<7xf32>
  %lt = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
  check.expect_eq_const %lt, dense<true> : tensor<7xi1>
  %ge = stablehlo.compare GE, %a, %b, TOTALORDER : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
  check.expect_eq_const %ge, dense<false> : tensor<7xi1>
  %eq = stablehlo.compare EQ, %b, %b, TOTALORDER : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
  check.expect_eq_const %eq, dense<true> : tensor<7xi1>
  func.return
}
