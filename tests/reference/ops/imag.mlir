// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-3.0, -4.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.imag %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[2.0, -4.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-3.0, -4.0)]> : tensor<2xcomplex<f64>>
  %y = stablehlo.imag %x : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
  check.expect_eq_const %y, dense<[2.0, -4.0]> : tensor<2xf64>
  func.return
}

// -----

// A real number has no imaginary part.
func.func @main() {
  %x = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xf32>
  %y = stablehlo.imag %x : tensor<2xf32>
  check.expect_eq_const %y, dense<[0.0, 0.0]> : tensor<2xf32>
  func.return
}
