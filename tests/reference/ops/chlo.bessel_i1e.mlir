// Values: scipy.special.i1e.

func.func @main() {
  %x = stablehlo.constant dense<[-2.0, 0.5, 1.0, 20.0]> : tensor<4xf64>
  %y = chlo.bessel_i1e %x : tensor<4xf64> -> tensor<4xf64>
  check.expect_almost_eq_const %y, dense<[-0.2152692892489377, 0.15642080318487173, 0.2079104153497085, 0.08750622218328867]> : tensor<4xf64>, tolerance = 1.0e-14
  func.return
}
