// Trap: the forward transform is not scaled, the inverse divides by the length; RFFT and IRFFT have half the spectrum.

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (1.0, 0.0)]> : tensor<4xcomplex<f32>>
  %y = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  check.expect_almost_eq_const %y, dense<[(4.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]> : tensor<4xcomplex<f32>>, tolerance = 1.0e-6
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(4.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]> : tensor<4xcomplex<f32>>
  %y = stablehlo.fft %x, type = IFFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  check.expect_almost_eq_const %y, dense<[(1.0, 0.0), (1.0, 0.0), (1.0, 0.0), (1.0, 0.0)]> : tensor<4xcomplex<f32>>, tolerance = 1.0e-6
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 1.0, 1.0, 1.0]> : tensor<4xf32>
  %y = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
  check.expect_almost_eq_const %y, dense<[(4.0, 0.0), (0.0, 0.0), (0.0, 0.0)]> : tensor<3xcomplex<f32>>, tolerance = 1.0e-6
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(4.0, 0.0), (0.0, 0.0), (0.0, 0.0)]> : tensor<3xcomplex<f32>>
  %y = stablehlo.fft %x, type = IRFFT, length = [4] : (tensor<3xcomplex<f32>>) -> tensor<4xf32>
  check.expect_almost_eq_const %y, dense<[1.0, 1.0, 1.0, 1.0]> : tensor<4xf32>, tolerance = 1.0e-6
  func.return
}
