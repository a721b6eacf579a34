// Values: numpy.einsum.

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = stablehlo.unary_einsum %a, config = "ab->a" : (tensor<2x3xf32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[6.0, 15.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.unary_einsum %a, config = "ab->ba" : (tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %y, dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  func.return
}

// -----

// A letter twice: the diagonal.
func.func @main() {
  %a = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]> : tensor<3x3xf32>
  %y = stablehlo.unary_einsum %a, config = "ii->i" : (tensor<3x3xf32>) -> tensor<3xf32>
  check.expect_eq_const %y, dense<[0.0, 4.0, 8.0]> : tensor<3xf32>
  func.return
}

// -----

// The trace, and a diagonal beside a sum.
func.func @main() {
  %a = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]> : tensor<3x3xf32>
  %y = stablehlo.unary_einsum %a, config = "ii->" : (tensor<3x3xf32>) -> tensor<f32>
  check.expect_eq_const %y, dense<12.0> : tensor<f32>
  %b = stablehlo.constant dense<[[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]> : tensor<2x3x2xi32>
  %z = stablehlo.unary_einsum %b, config = "iji->j" : (tensor<2x3x2xi32>) -> tensor<3xi32>
  check.expect_eq_const %z, dense<[7, 11, 15]> : tensor<3xi32>
  %c = stablehlo.constant dense<> : tensor<0x0xi32>
  %w = stablehlo.unary_einsum %c, config = "ii->i" : (tensor<0x0xi32>) -> tensor<0xi32>
  check.expect_eq_const %w, dense<> : tensor<0xi32>
  func.return
}

// -----

// Quantized: by way of real numbers.
func.func @main() {
  %a = stablehlo.constant dense<[[0.0, 1.0], [3.5, 4.0]]> : tensor<2x2xf32>
  %q = stablehlo.uniform_quantize %a : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>
  %s = stablehlo.unary_einsum %q, config = "ab->b" : (tensor<2x2x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<2x!quant.uniform<i8:f32, 0.25:-2>>
  %y = stablehlo.uniform_dequantize %s : (tensor<2x!quant.uniform<i8:f32, 0.25:-2>>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[3.5, 5.0]> : tensor<2xf32>
  func.return
}
