// Trap: logistic may be 1 / (1 + exp(-x)) with each step rounded in the type (values: mpmath and ml_dtypes, step by step),
// or be rounded once; a judge must allow 3 units in the last place between the two.

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.69921875, 0.30078125, 1.1015625, 2.203125, 5.0]> : tensor<6xbf16>
  %y = stablehlo.logistic %x : tensor<6xbf16>
  %expected = stablehlo.constant dense<[0.04736328125, 0.33203125, 0.57421875, 0.75390625, 0.90234375, 0.9921875]> : tensor<6xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<6xbf16>, tensor<6xbf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-3.0, -0.7, 0.3, 1.1, 2.2, 5.0]> : tensor<6xf16>
  %y = stablehlo.logistic %x : tensor<6xf16>
  %expected = stablehlo.constant dense<[0.04745, 0.3318, 0.5747, 0.75, 0.9, 0.993]> : tensor<6xf16>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<6xf16>, tensor<6xf16>
  func.return
}
