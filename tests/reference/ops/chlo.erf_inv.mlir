// Values: mpmath with 300 bits; three units in the last place are allowed.

func.func @main() {
  %x = stablehlo.constant dense<[-0.75, -0.25, 0.5, 0.96875]> : tensor<4xf32>
  %y = chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  %expected = stablehlo.constant dense<[-0.8134198, -0.22531205, 0.47693628, 1.5230194]> : tensor<4xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-0.75, -0.25, 0.5, 0.96875]> : tensor<4xf64>
  %y = chlo.erf_inv %x : tensor<4xf64> -> tensor<4xf64>
  %expected = stablehlo.constant dense<[-0.8134198475976185, -0.2253120550121781, 0.4769362762044699, 1.523019401996956]> : tensor<4xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf64>, tensor<4xf64>
  func.return
}
