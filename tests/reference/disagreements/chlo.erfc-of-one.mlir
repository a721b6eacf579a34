// erfc(1) in f32 (value: mpmath with 300 bits). Our lowering is 5 units in the last place off.

func.func @main() {
  %x = stablehlo.constant dense<[1.0]> : tensor<1xf32>
  %y = chlo.erfc %x : tensor<1xf32> -> tensor<1xf32>
  %expected = stablehlo.constant dense<[0.1572992]> : tensor<1xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<1xf32>, tensor<1xf32>
  func.return
}
