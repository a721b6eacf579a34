// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[3.0, -1.5]> : tensor<2xf32>
  %y = chlo.square %x : tensor<2xf32> -> tensor<2xf32>
  check.expect_eq_const %y, dense<[9.0, 2.25]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f64>>
  %y = chlo.square %x : tensor<1xcomplex<f64>> -> tensor<1xcomplex<f64>>
  check.expect_eq_const %y, dense<[(-3.0, 4.0)]> : tensor<1xcomplex<f64>>
  func.return
}
