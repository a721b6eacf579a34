// Values: scipy.special.zeta.

func.func @main() {
  %x = stablehlo.constant dense<[2.0, 3.5, 6.0]> : tensor<3xf64>
  %q = stablehlo.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf64>
  %y = chlo.zeta %x, %q : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %y, dense<[1.6449340668482266, 0.12673386731705663, 64.09261290502029]> : tensor<3xf64>, tolerance = 1.0e-12
  func.return
}
