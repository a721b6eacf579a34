// Trap: sign of NaN is NaN and zeros keep their sign.

func.func @main() {
  %x = stablehlo.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  %y = stablehlo.sign %x : tensor<2xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %bits, dense<[-2147483648, 0]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0x7FC0]> : tensor<1xbf16>
  %y = stablehlo.sign %x : tensor<1xbf16>
  check.expect_almost_eq_const %y, dense<[0x7FC0]> : tensor<1xbf16>, tolerance = 0.0
  func.return
}
