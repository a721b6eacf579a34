// Values: by hand. real = (stored - zero point) * scale.

func.func @main() {
  %q = stablehlo.constant() {value = dense<[3, 5, -128, 127]> : tensor<4xi8>} : () -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %y = stablehlo.uniform_dequantize %q : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xf32>
  check.expect_eq_const %y, dense<[0.0, 1.0, -65.5, 62.0]> : tensor<4xf32>
  func.return
}

// -----

// Per axis: rows.
func.func @main() {
  %q = stablehlo.constant() {value = dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>} : () -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5:1, 2.0:0}>>
  %y = stablehlo.uniform_dequantize %q : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5:1, 2.0:0}>>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[0.0, 0.5], [6.0, 8.0]]> : tensor<2x2xf32>
  func.return
}
