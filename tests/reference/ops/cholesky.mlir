// Values: by hand; the factor was chosen and multiplied by its adjoint. Only the named triangle is looked at.

func.func @main() {
  %a = stablehlo.constant dense<[[4.0, 2.0, -2.0], [2.0, 10.0, 5.0], [-2.0, 5.0, 6.0]]> : tensor<3x3xf32>
  %y = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>
  %triangle = stablehlo.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>
  %zero = stablehlo.constant dense<[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %z = stablehlo.select %triangle, %y, %zero : tensor<3x3xi1>, tensor<3x3xf32>
  check.expect_almost_eq_const %z, dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0]]> : tensor<3x3xf32>, tolerance = 1.0e-6
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[4.0, 2.0, -2.0], [2.0, 10.0, 5.0], [-2.0, 5.0, 6.0]]> : tensor<3x3xf64>
  %y = stablehlo.cholesky %a, lower = false : tensor<3x3xf64>
  %triangle = stablehlo.constant dense<[[true, true, true], [false, true, true], [false, false, true]]> : tensor<3x3xi1>
  %zero = stablehlo.constant dense<[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf64>
  %z = stablehlo.select %triangle, %y, %zero : tensor<3x3xi1>, tensor<3x3xf64>
  check.expect_almost_eq_const %z, dense<[[2.0, 1.0, -1.0], [0.0, 3.0, 2.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf64>, tolerance = 1.0e-14
  func.return
}

// -----

// A batch.
func.func @main() {
  %a = stablehlo.constant dense<[[[4.0, 2.0, -2.0], [2.0, 10.0, 5.0], [-2.0, 5.0, 6.0]], [[16.0, 8.0, -8.0], [8.0, 40.0, 20.0], [-8.0, 20.0, 24.0]]]> : tensor<2x3x3xf64>
  %y = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf64>
  %triangle = stablehlo.constant dense<[[[true, false, false], [true, true, false], [true, true, true]], [[true, false, false], [true, true, false], [true, true, true]]]> : tensor<2x3x3xi1>
  %zero = stablehlo.constant dense<[[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]> : tensor<2x3x3xf64>
  %z = stablehlo.select %triangle, %y, %zero : tensor<2x3x3xi1>, tensor<2x3x3xf64>
  check.expect_almost_eq_const %z, dense<[[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0]], [[4.0, 0.0, 0.0], [2.0, 6.0, 0.0], [-2.0, 4.0, 2.0]]]> : tensor<2x3x3xf64>, tolerance = 1.0e-14
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[(4.0, 0.0), (2.0, -4.0)], [(2.0, 4.0), (14.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %y = stablehlo.cholesky %a, lower = true : tensor<2x2xcomplex<f64>>
  %triangle = stablehlo.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %zero = stablehlo.constant dense<[[(0.0, 0.0), (0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %z = stablehlo.select %triangle, %y, %zero : tensor<2x2xi1>, tensor<2x2xcomplex<f64>>
  check.expect_almost_eq_const %z, dense<[[(2.0, 0.0), (0.0, 0.0)], [(1.0, 2.0), (3.0, 0.0)]]> : tensor<2x2xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// The other triangle is not read.
func.func @main() {
  %a = stablehlo.constant dense<[[4.0, 99.0, 99.0], [2.0, 10.0, 99.0], [-2.0, 5.0, 6.0]]> : tensor<3x3xf64>
  %y = stablehlo.cholesky %a, lower = true : tensor<3x3xf64>
  %triangle = stablehlo.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>
  %zero = stablehlo.constant dense<[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf64>
  %z = stablehlo.select %triangle, %y, %zero : tensor<3x3xi1>, tensor<3x3xf64>
  check.expect_almost_eq_const %z, dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0]]> : tensor<3x3xf64>, tolerance = 1.0e-14
  func.return
}

// -----

// Not positive definite: NaN.
func.func @main() {
  %a = stablehlo.constant dense<[[-1.0]]> : tensor<1x1xf32>
  %y = stablehlo.cholesky %a, lower = true : tensor<1x1xf32>
  check.expect_almost_eq_const %y, dense<[[0x7FC00000]]> : tensor<1x1xf32>, tolerance = 0.0
  func.return
}

// -----

// Quantized: by way of real numbers.
func.func @main() {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 10.0]]> : tensor<2x2xf32>
  %q = stablehlo.uniform_quantize %a : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:-3>>
  %c = stablehlo.cholesky %q, lower = true : tensor<2x2x!quant.uniform<i8:f32, 0.5:-3>>
  %y = stablehlo.uniform_dequantize %c : (tensor<2x2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2x2xf32>
  %triangle = stablehlo.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<2x2xf32>
  %z = stablehlo.select %triangle, %y, %zero : tensor<2x2xi1>, tensor<2x2xf32>
  check.expect_eq_const %z, dense<[[2.0, 0.0], [1.0, 3.0]]> : tensor<2x2xf32>
  func.return
}
