// Values: by hand. What each check lets pass; what it refuses is in the tests of the tool.

func.func @main() {
  %a = stablehlo.constant dense<[0.0, 1.5]> : tensor<2xf32>
  %b = stablehlo.constant dense<[-0.0, 1.5]> : tensor<2xf32>
  check.expect_eq %a, %b : tensor<2xf32>
  check.expect_eq_const %b, dense<[0.0, 1.5]> : tensor<2xf32>
  %c = stablehlo.constant dense<[0x7FC00000, 1.0625]> : tensor<2xf32>
  %d = stablehlo.constant dense<[0x7FC00001, 1.0]> : tensor<2xf32>
  check.expect_almost_eq %c, %d, tolerance = 0.0625 : tensor<2xf32>
  check.expect_almost_eq_const %c, dense<[0x7FC00000, 1.125]> : tensor<2xf32>, tolerance = 0.0625
  %e = stablehlo.constant dense<[0x00000001, 0x3F800000]> : tensor<2xf32>
  %f = stablehlo.constant dense<[0x80000001, 0x3F800002]> : tensor<2xf32>
  check.expect_close %e, %f, max_ulp_difference = 2, min_ulp_difference = 2 : tensor<2xf32>, tensor<2xf32>
  func.return
}
