// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.reshape %x : (tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %y, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[2.5]]> : tensor<1x1xf16>
  %y = stablehlo.reshape %x : (tensor<1x1xf16>) -> tensor<f16>
  check.expect_eq_const %y, dense<2.5> : tensor<f16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.reshape %x : (tensor<0x3xf32>) -> tensor<5x0xf32>
  check.expect_eq_const %y, dense<> : tensor<5x0xf32>
  func.return
}
