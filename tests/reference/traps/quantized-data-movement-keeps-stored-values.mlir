// Trap: reshape, transpose, slice, broadcast_in_dim and the like move the stored integers; nothing is requantized.

func.func @main() {
  %a = stablehlo.constant() {value = dense<[5, -7, 9]> : tensor<3xi8>} : () -> tensor<3x!quant.uniform<i8:f32, 0.5:3>>
  %b = stablehlo.slice %a [1:3] : (tensor<3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  %y = stablehlo.bitcast_convert %b : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2xi8>
  check.expect_eq_const %y, dense<[-7, 9]> : tensor<2xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant() {value = dense<[5, -7, 9]> : tensor<3xi8>} : () -> tensor<3x!quant.uniform<i8:f32, 0.5:3>>
  %b = stablehlo.reshape %a : (tensor<3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<1x3x!quant.uniform<i8:f32, 0.5:3>>
  %y = stablehlo.bitcast_convert %b : (tensor<1x3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<1x3xi8>
  check.expect_eq_const %y, dense<[[5, -7, 9]]> : tensor<1x3xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant() {value = dense<[5, -7, 9]> : tensor<3xi8>} : () -> tensor<3x!quant.uniform<i8:f32, 0.5:3>>
  %b = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>
  %y = stablehlo.bitcast_convert %b : (tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x3xi8>
  check.expect_eq_const %y, dense<[[5, -7, 9], [5, -7, 9]]> : tensor<2x3xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant() {value = dense<[5, -7, 9]> : tensor<3xi8>} : () -> tensor<3x!quant.uniform<i8:f32, 0.5:3>>
  %b = stablehlo.transpose %a, dims = [0] : (tensor<3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<3x!quant.uniform<i8:f32, 0.5:3>>
  %y = stablehlo.bitcast_convert %b : (tensor<3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<3xi8>
  check.expect_eq_const %y, dense<[5, -7, 9]> : tensor<3xi8>
  func.return
}
