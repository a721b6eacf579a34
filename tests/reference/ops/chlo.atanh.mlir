// Values: mpmath with 300 bits; three units in the last place are allowed.

func.func @main() {
  %x = stablehlo.constant dense<[-0.75, -0.25, 0.5]> : tensor<3xf32>
  %y = chlo.atanh %x : tensor<3xf32> -> tensor<3xf32>
  %expected = stablehlo.constant dense<[-0.97295505, -0.25541282, 0.54930615]> : tensor<3xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<3xf32>, tensor<3xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-0.75, -0.25, 0.5]> : tensor<3xf64>
  %y = chlo.atanh %x : tensor<3xf64> -> tensor<3xf64>
  %expected = stablehlo.constant dense<[-0.9729550745276566, -0.25541281188299536, 0.5493061443340549]> : tensor<3xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<3xf64>, tensor<3xf64>
  func.return
}
