// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-0.0, -3.0)]> : tensor<2xcomplex<f32>>
  %y = chlo.conj %x : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  check.expect_eq_const %y, dense<[(1.0, -2.0), (0.0, 3.0)]> : tensor<2xcomplex<f32>>
  func.return
}
