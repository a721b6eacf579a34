// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %y = stablehlo.broadcast %x, sizes = [2, 2] : (tensor<3xi32>) -> tensor<2x2x3xi32>
  check.expect_eq_const %y, dense<[[[1, 2, 3], [1, 2, 3]], [[1, 2, 3], [1, 2, 3]]]> : tensor<2x2x3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.broadcast %x, sizes = [0] : (tensor<2xf32>) -> tensor<0x2xf32>
  check.expect_eq_const %y, dense<> : tensor<0x2xf32>
  func.return
}
