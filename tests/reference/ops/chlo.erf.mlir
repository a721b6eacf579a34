// Values: mpmath with 300 bits; three units in the last place are allowed.

func.func @main() {
  %x = stablehlo.constant dense<[-2.0, -0.5, 0.25, 1.0, 3.0]> : tensor<5xf32>
  %y = chlo.erf %x : tensor<5xf32> -> tensor<5xf32>
  %expected = stablehlo.constant dense<[-0.9953223, -0.5204999, 0.2763264, 0.8427008, 0.9999779]> : tensor<5xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-2.0, -0.5, 0.25, 1.0, 3.0]> : tensor<5xf64>
  %y = chlo.erf %x : tensor<5xf64> -> tensor<5xf64>
  %expected = stablehlo.constant dense<[-0.9953222650189527, -0.5204998778130465, 0.27632639016823696, 0.8427007929497149, 0.9999779095030014]> : tensor<5xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<5xf64>, tensor<5xf64>
  func.return
}
