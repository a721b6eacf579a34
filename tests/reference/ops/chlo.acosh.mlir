// Values: mpmath with 300 bits; three units in the last place are allowed.

func.func @main() {
  %x = stablehlo.constant dense<[1.25, 2.0, 10.0]> : tensor<3xf32>
  %y = chlo.acosh %x : tensor<3xf32> -> tensor<3xf32>
  %expected = stablehlo.constant dense<[0.6931472, 1.316958, 2.993223]> : tensor<3xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<3xf32>, tensor<3xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.25, 2.0, 10.0]> : tensor<3xf64>
  %y = chlo.acosh %x : tensor<3xf64> -> tensor<3xf64>
  %expected = stablehlo.constant dense<[0.6931471805599453, 1.3169578969248168, 2.993222846126381]> : tensor<3xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<3xf64>, tensor<3xf64>
  func.return
}
