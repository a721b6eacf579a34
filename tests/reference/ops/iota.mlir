// Values: by hand.

func.func @main() {
  %y = stablehlo.iota dim = 0 : tensor<4xi32>
  check.expect_eq_const %y, dense<[0, 1, 2, 3]> : tensor<4xi32>
  func.return
}

// -----

func.func @main() {
  %y = stablehlo.iota dim = 0 : tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]> : tensor<2x3xf32>
  func.return
}

// -----

func.func @main() {
  %y = stablehlo.iota dim = 1 : tensor<2x3xbf16>
  check.expect_eq_const %y, dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xbf16>
  func.return
}

// -----

func.func @main() {
  %y = stablehlo.iota dim = 0 : tensor<3xcomplex<f32>>
  check.expect_eq_const %y, dense<[(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)]> : tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @main() {
  %y = stablehlo.iota dim = 2 : tensor<2x2x2xui8>
  check.expect_eq_const %y, dense<[[[0, 1], [0, 1]], [[0, 1], [0, 1]]]> : tensor<2x2x2xui8>
  func.return
}

// -----

func.func @main() {
  %y = stablehlo.iota dim = 1 : tensor<0x3xi64>
  check.expect_eq_const %y, dense<> : tensor<0x3xi64>
  func.return
}
