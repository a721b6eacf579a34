// Values: mpmath with 300 bits; three units in the last place are allowed.

func.func @main() {
  %x = stablehlo.constant dense<[-0.75, -0.25, 0.5, 0.96875]> : tensor<4xf32>
  %y = chlo.acos %x : tensor<4xf32> -> tensor<4xf32>
  %expected = stablehlo.constant dense<[2.4188583, 1.8234766, 1.0471976, 0.25065565]> : tensor<4xf32>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-0.75, -0.25, 0.5, 0.96875]> : tensor<4xf64>
  %y = chlo.acos %x : tensor<4xf64> -> tensor<4xf64>
  %expected = stablehlo.constant dense<[2.4188584057763776, 1.8234765819369754, 1.0471975511965979, 0.2506556623361308]> : tensor<4xf64>
  check.expect_close %y, %expected, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<4xf64>, tensor<4xf64>
  func.return
}
