// Trap: complex numbers are ordered by real part, then imaginary part.

func.func @main() {
  %a = stablehlo.constant dense<[(1.0, 9.0), (1.0, 2.0), (3.0, 0.0)]> : tensor<3xcomplex<f32>>
  %b = stablehlo.constant dense<[(2.0, 0.0), (1.0, 3.0), (3.0, 0.0)]> : tensor<3xcomplex<f32>>
  %lt = stablehlo.compare LT, %a, %b : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %lt, dense<[true, true, false]> : tensor<3xi1>
  %ge = stablehlo.compare GE, %a, %b : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %ge, dense<[false, false, true]> : tensor<3xi1>
  %eq = stablehlo.compare EQ, %a, %b : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[false, false, true]> : tensor<3xi1>
  func.return
}
