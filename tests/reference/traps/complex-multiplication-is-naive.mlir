// Trap: complex multiplication is the four products in the type itself: a product that overflows shows as infinity and NaN.

func.func @main() {
  %a = stablehlo.constant dense<[(1.0e+30, 1.0e+30)]> : tensor<1xcomplex<f32>>
  %b = stablehlo.constant dense<[(1.0e+30, -1.0e+30)]> : tensor<1xcomplex<f32>>
  %c = stablehlo.multiply %a, %b : tensor<1xcomplex<f32>>
  check.expect_almost_eq_const %c, dense<[(0x7F800000, 0x7FC00000)]> : tensor<1xcomplex<f32>>, tolerance = 0.0
  func.return
}
