// Trap: complex division is done in double: parts near 1e30 in f32 must not overflow on the way.

func.func @main() {
  %a = stablehlo.constant dense<[(1.0e+30, 1.0e+30), (2.0e+30, 0.0)]> : tensor<2xcomplex<f32>>
  %b = stablehlo.constant dense<[(1.0e+30, 1.0e+30), (0.0, 1.0e+30)]> : tensor<2xcomplex<f32>>
  %c = stablehlo.divide %a, %b : tensor<2xcomplex<f32>>
  check.expect_almost_eq_const %c, dense<[(1.0, 0.0), (0.0, -2.0)]> : tensor<2xcomplex<f32>>, tolerance = 1.0e-6
  func.return
}
