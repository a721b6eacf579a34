// Values: by hand.

func.func @main() {
  %re = stablehlo.constant dense<[1.0, -2.5]> : tensor<2xf32>
  %im = stablehlo.constant dense<[3.0, 0.0]> : tensor<2xf32>
  %z = stablehlo.complex %re, %im : tensor<2xcomplex<f32>>
  check.expect_eq_const %z, dense<[(1.0, 3.0), (-2.5, 0.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @main() {
  %re = stablehlo.constant dense<[1.0, -2.5]> : tensor<2xf64>
  %im = stablehlo.constant dense<[3.0, 0.0]> : tensor<2xf64>
  %z = stablehlo.complex %re, %im : tensor<2xcomplex<f64>>
  check.expect_eq_const %z, dense<[(1.0, 3.0), (-2.5, 0.0)]> : tensor<2xcomplex<f64>>
  func.return
}

// -----

func.func @main() {
  %re = stablehlo.constant dense<> : tensor<0xf32>
  %z = stablehlo.complex %re, %re : tensor<0xcomplex<f32>>
  check.expect_eq_const %z, dense<> : tensor<0xcomplex<f32>>
  func.return
}
