// Values: the derivative of batch_norm_training in NumPy, f64, confirmed by central differences.

func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 6.0], [5.0, -2.0], [7.0, 4.0]]> : tensor<4x2xf32>
  %scale = stablehlo.constant dense<[2.0, 0.5]> : tensor<2xf32>
  %mean = stablehlo.constant dense<[4.0, 2.5]> : tensor<2xf32>
  %variance = stablehlo.constant dense<[5.0, 8.75]> : tensor<2xf32>
  %g = stablehlo.constant dense<[[1.0, 0.5], [-1.0, 2.0], [0.25, -0.5], [2.0, 1.0]]> : tensor<4x2xf32>
  %gx, %gs, %go = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %g) {epsilon = 0.125 : f32, feature_index = 1 : i64} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  check.expect_almost_eq_const %gx, dense<[[0.93597454, -0.017138211], [-1.1972394, 0.03604934], [-0.45923355, 0.0135923745], [0.7204984, -0.032503504]]> : tensor<4x2xf32>, tolerance = 1.0e-5
  check.expect_almost_eq_const %gs, dense<[1.8773359, 3.5245616]> : tensor<2xf32>, tolerance = 1.0e-5
  check.expect_almost_eq_const %go, dense<[2.25, 3.0]> : tensor<2xf32>, tolerance = 1.0e-5
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 6.0], [5.0, -2.0], [7.0, 4.0]]> : tensor<4x2xf64>
  %scale = stablehlo.constant dense<[2.0, 0.5]> : tensor<2xf64>
  %mean = stablehlo.constant dense<[4.0, 2.5]> : tensor<2xf64>
  %variance = stablehlo.constant dense<[5.0, 8.75]> : tensor<2xf64>
  %g = stablehlo.constant dense<[[1.0, 0.5], [-1.0, 2.0], [0.25, -0.5], [2.0, 1.0]]> : tensor<4x2xf64>
  %gx, %gs, %go = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %g) {epsilon = 0.125 : f32, feature_index = 1 : i64} : (tensor<4x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<4x2xf64>) -> (tensor<4x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %gx, dense<[[0.9359745197807113, -0.01713821083845351], [-1.1972393497626654, 0.03604934003950567], [-0.4592335413600325, 0.013592374113256232], [0.7204983713419867, -0.03250350331430838]]> : tensor<4x2xf64>, tolerance = 1.0e-13
  check.expect_almost_eq_const %gs, dense<[1.877335943272391, 3.524561704846094]> : tensor<2xf64>, tolerance = 1.0e-13
  check.expect_almost_eq_const %go, dense<[2.25, 3.0]> : tensor<2xf64>, tolerance = 1.0e-13
  func.return
}

// -----

// Quantized: by way of real numbers.
func.func @main() {
  %xf = stablehlo.constant dense<[[1.0], [1.0], [3.0], [3.0]]> : tensor<4x1xf32>
  %sf = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %mf = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %vf = stablehlo.constant dense<[1.0]> : tensor<1xf32>
  %gf = stablehlo.constant dense<[[1.0], [0.0], [2.0], [0.0]]> : tensor<4x1xf32>
  %x = stablehlo.uniform_quantize %xf : (tensor<4x1xf32>) -> tensor<4x1x!quant.uniform<i8:f32, 0.5:2>>
  %s = stablehlo.uniform_quantize %sf : (tensor<1xf32>) -> tensor<1x!quant.uniform<i8:f32, 0.5:2>>
  %m = stablehlo.uniform_quantize %mf : (tensor<1xf32>) -> tensor<1x!quant.uniform<i8:f32, 0.5:2>>
  %v = stablehlo.uniform_quantize %vf : (tensor<1xf32>) -> tensor<1x!quant.uniform<i8:f32, 0.5:2>>
  %g = stablehlo.uniform_quantize %gf : (tensor<4x1xf32>) -> tensor<4x1x!quant.uniform<i8:f32, 0.5:2>>
  %r:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {epsilon = 0.0 : f32, feature_index = 1 : i64} : (tensor<4x1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.5:2>>, tensor<4x1x!quant.uniform<i8:f32, 0.5:2>>) -> (tensor<4x1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.5:2>>)
  %y = stablehlo.uniform_dequantize %r#0 : (tensor<4x1x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<4x1xf32>
  %scale = stablehlo.uniform_dequantize %r#1 : (tensor<1x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<1xf32>
  %offset = stablehlo.uniform_dequantize %r#2 : (tensor<1x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<1xf32>
  check.expect_eq_const %y, dense<[[1.0], [-1.0], [2.0], [-2.0]]> : tensor<4x1xf32>
  check.expect_eq_const %scale, dense<[1.0]> : tensor<1xf32>
  check.expect_eq_const %offset, dense<[3.0]> : tensor<1xf32>
  func.return
}
