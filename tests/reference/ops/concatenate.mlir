// Values: by hand.

func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3]> : tensor<1xi32>
  %y = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xi32>, tensor<1xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[1, 2, 3]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %b = stablehlo.constant dense<> : tensor<2x0xf32>
  %c = stablehlo.constant dense<[[3.0, 4.0], [5.0, 6.0]]> : tensor<2x2xf32>
  %y = stablehlo.concatenate %a, %b, %c, dim = 1 : (tensor<2x1xf32>, tensor<2x0xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]]> : tensor<2x3xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[true]> : tensor<1xi1>
  %y = stablehlo.concatenate %a, dim = 0 : (tensor<1xi1>) -> tensor<1xi1>
  check.expect_eq_const %y, dense<[true]> : tensor<1xi1>
  func.return
}
