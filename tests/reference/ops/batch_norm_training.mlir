// Values: NumPy in f64; the variance is the biased one (divided by the count).

func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 6.0], [5.0, -2.0], [7.0, 4.0]]> : tensor<4x2xf32>
  %scale = stablehlo.constant dense<[2.0, 0.5]> : tensor<2xf32>
  %offset = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %y, %m, %v = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.125 : f32, feature_index = 1 : i64} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  check.expect_almost_eq_const %y, dense<[[-1.6503567, -1.0839181], [0.11654779, -0.41257304], [1.8834522, -1.7552632], [3.6503565, -0.7482456]]> : tensor<4x2xf32>, tolerance = 1.0e-6
  check.expect_almost_eq_const %m, dense<[4.0, 2.5]> : tensor<2xf32>, tolerance = 1.0e-6
  check.expect_almost_eq_const %v, dense<[5.0, 8.75]> : tensor<2xf32>, tolerance = 1.0e-6
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 6.0], [5.0, -2.0], [7.0, 4.0]]> : tensor<4x2xf64>
  %scale = stablehlo.constant dense<[2.0, 0.5]> : tensor<2xf64>
  %offset = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf64>
  %y, %m, %v = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.125 : f32, feature_index = 1 : i64} : (tensor<4x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<4x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %y, dense<[[-1.650356625796317, -1.083918135829669], [0.11654779140122773, -0.41257304919231763], [1.8834522085987722, -1.7552632224670202], [3.650356625796317, -0.7482455925109932]]> : tensor<4x2xf64>, tolerance = 1.0e-14
  check.expect_almost_eq_const %m, dense<[4.0, 2.5]> : tensor<2xf64>, tolerance = 1.0e-14
  check.expect_almost_eq_const %v, dense<[5.0, 8.75]> : tensor<2xf64>, tolerance = 1.0e-14
  func.return
}

// -----

// Quantized: by way of real numbers.
func.func @main() {
  %xf = stablehlo.constant dense<[[1.0], [3.0]]> : tensor<2x1xf32>
  %sf = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %of = stablehlo.constant dense<[0.5]> : tensor<1xf32>
  %x = stablehlo.uniform_quantize %xf : (tensor<2x1xf32>) -> tensor<2x1x!quant.uniform<i8:f32, 0.5:2>>
  %s = stablehlo.uniform_quantize %sf : (tensor<1xf32>) -> tensor<1x!quant.uniform<i8:f32, 0.5:2>>
  %o = stablehlo.uniform_quantize %of : (tensor<1xf32>) -> tensor<1x!quant.uniform<i8:f32, 0.5:2>>
  %r:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {epsilon = 0.0 : f32, feature_index = 1 : i64} : (tensor<2x1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.5:2>>) -> (tensor<2x1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.5:2>>)
  %y = stablehlo.uniform_dequantize %r#0 : (tensor<2x1x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2x1xf32>
  %mean = stablehlo.uniform_dequantize %r#1 : (tensor<1x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<1xf32>
  %variance = stablehlo.uniform_dequantize %r#2 : (tensor<1x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<1xf32>
  check.expect_eq_const %y, dense<[[-1.5], [2.5]]> : tensor<2x1xf32>
  check.expect_eq_const %mean, dense<[2.0]> : tensor<1xf32>
  check.expect_eq_const %variance, dense<[1.0]> : tensor<1xf32>
  func.return
}
