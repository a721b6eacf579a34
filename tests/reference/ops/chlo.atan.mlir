// Values: mpmath with 300 bits; three units in the last place are allowed.

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.25, 0.5, 10.0]> : tensor<4xf32>
  %y = chlo.atan %x : tensor<4xf32> -> tensor<4xf32>
  %expected = stablehlo.constant dense<[-1.2490457, -0.24497867, 0.4636476, 1.4711276]> : tensor<4xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.25, 0.5, 10.0]> : tensor<4xf64>
  %y = chlo.atan %x : tensor<4xf64> -> tensor<4xf64>
  %expected = stablehlo.constant dense<[-1.2490457723982544, -0.24497866312686414, 0.4636476090008061, 1.4711276743037347]> : tensor<4xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf64>, tensor<4xf64>
  func.return
}
