// Values: mpmath with 300 bits; three units in the last place are allowed.

func.func @main() {
  %x = stablehlo.constant dense<[-2.0, -0.5, 0.25, 3.0]> : tensor<4xf32>
  %y = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
  %expected = stablehlo.constant dense<[1.9953222, 1.5204998, 0.7236736, 2.2090497e-05]> : tensor<4xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-2.0, -0.5, 0.25, 3.0]> : tensor<4xf64>
  %y = chlo.erfc %x : tensor<4xf64> -> tensor<4xf64>
  %expected = stablehlo.constant dense<[1.9953222650189528, 1.5204998778130465, 0.7236736098317631, 2.209049699858544e-05]> : tensor<4xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf64>, tensor<4xf64>
  func.return
}

// -----

// Where 1 - erf(x) cancels.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 0.96875, 0.875]> : tensor<3xf32>
  %y = chlo.erfc %x : tensor<3xf32> -> tensor<3xf32>
  %expected = stablehlo.constant dense<[0.1572992, 0.17068085, 0.21592493]> : tensor<3xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<3xf32>, tensor<3xf32>
  func.return
}
