// Trap: exponential_minus_one and log_plus_one of complex numbers are exp(z) - 1 and log(1 + z) (values: mpmath).

func.func @main() {
  %x = stablehlo.constant dense<[(0.25, 0.5)]> : tensor<1xcomplex<f64>>
  %y = stablehlo.exponential_minus_one %x : tensor<1xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.1268383147091815, 0.6155945769770067)]> : tensor<1xcomplex<f64>>, tolerance = 1.0e-15
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(0.25, 0.5)]> : tensor<1xcomplex<f64>>
  %y = stablehlo.log_plus_one %x : tensor<1xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.2973535538733464, 0.3805063771123649)]> : tensor<1xcomplex<f64>>, tolerance = 1.0e-15
  func.return
}
