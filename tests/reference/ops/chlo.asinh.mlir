// Values: mpmath with 300 bits; three units in the last place are allowed.

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.25, 0.5, 10.0]> : tensor<4xf32>
  %y = chlo.asinh %x : tensor<4xf32> -> tensor<4xf32>
  %expected = stablehlo.constant dense<[-1.8184465, -0.24746646, 0.4812118, 2.998223]> : tensor<4xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.25, 0.5, 10.0]> : tensor<4xf64>
  %y = chlo.asinh %x : tensor<4xf64> -> tensor<4xf64>
  %expected = stablehlo.constant dense<[-1.8184464592320668, -0.24746646154726346, 0.48121182505960347, 2.99822295029797]> : tensor<4xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf64>, tensor<4xf64>
  func.return
}
