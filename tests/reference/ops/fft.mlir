// Values: numpy.fft.

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (2.0, -1.0), (0.5, 0.0), (-3.0, 2.0), (0.0, 1.0), (4.0, 0.0)]> : tensor<6xcomplex<f64>>
  %y = stablehlo.fft %x, type = FFT, length = [6] : (tensor<6xcomplex<f64>>) -> tensor<6xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(4.5, 3.0), (5.017949192431123, -0.700961894323342), (-5.25, 5.165063509461096), (-1.5, 0.9999999999999996), (-5.25, 0.8349364905389036), (8.482050807568877, -3.2990381056766576)]> : tensor<6xcomplex<f64>>, tolerance = 1.0e-13
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (2.0, -1.0), (0.5, 0.0), (-3.0, 2.0), (0.0, 1.0), (4.0, 0.0)]> : tensor<6xcomplex<f32>>
  %y = stablehlo.fft %x, type = IFFT, length = [6] : (tensor<6xcomplex<f32>>) -> tensor<6xcomplex<f32>>
  check.expect_almost_eq_const %y, dense<[(0.75, 0.5), (1.4136752, -0.5498397), (-0.875, 0.13915609), (-0.25, 0.16666667), (-0.875, 0.8608439), (0.8363249, -0.11682698)]> : tensor<6xcomplex<f32>>, tolerance = 2.0e-6
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0, -1.0, 0.5, 3.0]> : tensor<5xf32>
  %y = stablehlo.fft %x, type = RFFT, length = [5] : (tensor<5xf32>) -> tensor<3xcomplex<f32>>
  check.expect_almost_eq_const %y, dense<[(5.5, 0.0), (2.9495935, 1.8327343), (-3.1995935, -0.83879954)]> : tensor<3xcomplex<f32>>, tolerance = 2.0e-6
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[(10.0, 0.0), (-2.0, 2.0), (-2.0, 0.0)]> : tensor<3xcomplex<f64>>
  %y = stablehlo.fft %x, type = IRFFT, length = [4] : (tensor<3xcomplex<f64>>) -> tensor<4xf64>
  check.expect_almost_eq_const %y, dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf64>, tolerance = 1.0e-13
  func.return
}

// -----

// Only the last dimension.
func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]> : tensor<2x4xf64>
  %y = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<2x4xf64>) -> tensor<2x3xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[[(6.0, 0.0), (-2.0, 2.0), (-2.0, 0.0)], [(22.0, 0.0), (-2.0, 2.0), (-2.0, 0.0)]]> : tensor<2x3xcomplex<f64>>, tolerance = 1.0e-13
  func.return
}

// -----

// Two dimensions.
func.func @main() {
  %x = stablehlo.constant dense<[[(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0)], [(4.0, 0.0), (5.0, 0.0), (6.0, 0.0), (7.0, 0.0)]]> : tensor<2x4xcomplex<f64>>
  %y = stablehlo.fft %x, type = FFT, length = [2, 4] : (tensor<2x4xcomplex<f64>>) -> tensor<2x4xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[[(28.0, 0.0), (-4.0, 4.0), (-4.0, 0.0), (-4.0, -4.0)], [(-16.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]]> : tensor<2x4xcomplex<f64>>, tolerance = 1.0e-13
  func.return
}

// -----

// Three dimensions; an odd length.
func.func @main() {
  %x = stablehlo.constant dense<[[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]]> : tensor<2x2x3xf64>
  %y = stablehlo.fft %x, type = RFFT, length = [2, 2, 3] : (tensor<2x2x3xf64>) -> tensor<2x2x2xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[[[(66.0, 0.0), (-6.0, 3.4641016151377544)], [(-18.0, 0.0), (0.0, 0.0)]], [[(-36.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0)]]]> : tensor<2x2x2xcomplex<f64>>, tolerance = 1.0e-12
  func.return
}
