// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %y, dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]> : tensor<2x3xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<7> : tensor<ui8>
  %y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<ui8>) -> tensor<1x2xui8>
  check.expect_eq_const %y, dense<[[7, 7]]> : tensor<1x2xui8>
  func.return
}

// -----

// A dimension of size 1 is stretched; the dimensions may come in any order.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi64>
  %y = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<1x2xi64>) -> tensor<2x2x2xi64>
  check.expect_eq_const %y, dense<[[[1, 1], [1, 1]], [[2, 2], [2, 2]]]> : tensor<2x2x2xi64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[true]> : tensor<1xi1>
  %y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<1xi1>) -> tensor<0x3xi1>
  check.expect_eq_const %y, dense<> : tensor<0x3xi1>
  func.return
}
