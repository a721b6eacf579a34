// Trap: an elementwise operation on quantized values is dequantize, operate, quantize: (6 - 2) * 0.5 times (9 - 1) * 0.25 is 4, stored at scale 1 and zero point 3 as 7.

func.func @main() {
  %a = stablehlo.constant() {value = dense<[6]> : tensor<1xi8>} : () -> tensor<1x!quant.uniform<i8:f32, 0.5:2>>
  %b = stablehlo.constant() {value = dense<[9]> : tensor<1xi8>} : () -> tensor<1x!quant.uniform<i8:f32, 0.25:1>>
  %c = stablehlo.multiply %a, %b : (tensor<1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.25:1>>) -> tensor<1x!quant.uniform<i8:f32, 1.0:3>>
  %y = stablehlo.bitcast_convert %c : (tensor<1x!quant.uniform<i8:f32, 1.0:3>>) -> tensor<1xi8>
  check.expect_eq_const %y, dense<[7]> : tensor<1xi8>
  func.return
}

// -----

// 2 + 2 = 4 is stored as 7 as well.
func.func @main() {
  %a = stablehlo.constant() {value = dense<[6]> : tensor<1xi8>} : () -> tensor<1x!quant.uniform<i8:f32, 0.5:2>>
  %b = stablehlo.constant() {value = dense<[9]> : tensor<1xi8>} : () -> tensor<1x!quant.uniform<i8:f32, 0.25:1>>
  %c = stablehlo.add %a, %b : (tensor<1x!quant.uniform<i8:f32, 0.5:2>>, tensor<1x!quant.uniform<i8:f32, 0.25:1>>) -> tensor<1x!quant.uniform<i8:f32, 1.0:3>>
  %y = stablehlo.bitcast_convert %c : (tensor<1x!quant.uniform<i8:f32, 1.0:3>>) -> tensor<1xi8>
  check.expect_eq_const %y, dense<[7]> : tensor<1xi8>
  func.return
}
