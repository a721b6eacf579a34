// Values: mpmath with 300 bits; three units in the last place are allowed.

func.func @main() {
  %x = stablehlo.constant dense<[-0.75, -0.25, 0.5, 0.96875]> : tensor<4xf32>
  %y = chlo.asin %x : tensor<4xf32> -> tensor<4xf32>
  %expected = stablehlo.constant dense<[-0.8480621, -0.25268024, 0.5235988, 1.3201407]> : tensor<4xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-0.75, -0.25, 0.5, 0.96875]> : tensor<4xf64>
  %y = chlo.asin %x : tensor<4xf64> -> tensor<4xf64>
  %expected = stablehlo.constant dense<[-0.848062078981481, -0.25268025514207865, 0.5235987755982989, 1.3201406644587659]> : tensor<4xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf64>, tensor<4xf64>
  func.return
}
