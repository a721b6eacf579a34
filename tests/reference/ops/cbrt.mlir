// Values: mpmath with 300 bits, rounded to the element type.

func.func @main() {
  %x = stablehlo.constant dense<[-27.0, -2.0, 0.5, 1.0, 3.0, 1000.0]> : tensor<6xf32>
  %y = stablehlo.cbrt %x : tensor<6xf32>
  %expected = stablehlo.constant dense<[-3.0, -1.2599211, 0.7937005, 1.0, 1.4422495, 10.0]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-27.0, -2.0, 0.5, 1.0, 3.0, 1000.0]> : tensor<6xf64>
  %y = stablehlo.cbrt %x : tensor<6xf64>
  %expected = stablehlo.constant dense<[-3.0, -1.2599210498948732, 0.7937005259840998, 1.0, 1.4422495703074083, 10.0]> : tensor<6xf64>
  check.expect_close %y, %expected, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-27.0, -2.0, 0.5, 1.0, 3.0]> : tensor<5xf16>
  %y = stablehlo.cbrt %x : tensor<5xf16>
  %expected = stablehlo.constant dense<[-3.0, -1.26, 0.7935, 1.0, 1.442]> : tensor<5xf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-27.0, -2.0, 0.5, 1.0, 3.0]> : tensor<5xbf16>
  %y = stablehlo.cbrt %x : tensor<5xbf16>
  %expected = stablehlo.constant dense<[-3.0, -1.2578125, 0.79296875, 1.0, 1.4453125]> : tensor<5xbf16>
  check.expect_close %y, %expected, max_ulp_difference = 1, min_ulp_difference = 0 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

// Infinities, NaN and the ends of the domain.
func.func @main() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %y = stablehlo.cbrt %x : tensor<3xf32>
  check.expect_almost_eq_const %y, dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>, tolerance = 0.0
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.cbrt %x : tensor<0x3xf32>
  check.expect_eq_const %y, dense<> : tensor<0x3xf32>
  func.return
}
