// Trap: a float left side with a quantized right side: dequantize, then a float product: 1.5 * 0.75.

func.func @main() {
  %a = stablehlo.constant dense<[[1.5]]> : tensor<1x1xf32>
  %b = stablehlo.constant() {value = dense<[[3]]> : tensor<1x1xi8>} : () -> tensor<1x1x!quant.uniform<i8:f32, 0.25>>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x1xf32>, tensor<1x1x!quant.uniform<i8:f32, 0.25>>) -> tensor<1x1xf32>
  check.expect_eq_const %y, dense<[[1.125]]> : tensor<1x1xf32>
  func.return
}
