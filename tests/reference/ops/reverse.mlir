// Values: NumPy.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
  %y = stablehlo.reverse %x, dims = [1] : (tensor<2x3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %y, dense<[[2, 1, 0], [5, 4, 3]]> : tensor<2x3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xbf16>
  %y = stablehlo.reverse %x, dims = [0, 1] : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  check.expect_eq_const %y, dense<[[5.0, 4.0, 3.0], [2.0, 1.0, 0.0]]> : tensor<2x3xbf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi8>
  %y = stablehlo.reverse %x, dims = [] : (tensor<2x3xi8>) -> tensor<2x3xi8>
  check.expect_eq_const %y, dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0xf32>
  %y = stablehlo.reverse %x, dims = [0] : (tensor<0xf32>) -> tensor<0xf32>
  check.expect_eq_const %y, dense<> : tensor<0xf32>
  func.return
}
