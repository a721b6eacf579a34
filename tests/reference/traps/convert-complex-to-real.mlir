// Trap: complex to real drops the imaginary part, real to complex adds a zero.

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 9.0)]> : tensor<1xcomplex<f64>>
  %y = stablehlo.convert %x : (tensor<1xcomplex<f64>>) -> tensor<1xf32>
  check.expect_eq_const %y, dense<[1.0]> : tensor<1xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[2]> : tensor<1xi32>
  %y = stablehlo.convert %x : (tensor<1xi32>) -> tensor<1xcomplex<f32>>
  check.expect_eq_const %y, dense<[(2.0, 0.0)]> : tensor<1xcomplex<f32>>
  func.return
}
