// A dense layer with 8-bit activations and per-channel 8-bit weights, and one with float activations.
module @quantized_dot {
  func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %weights = stablehlo.constant() {value = dense<[[1, -2, 3], [4, 5, -6], [7, 8, 9], [-1, 2, 1], [0, 3, 2], [5, -5, 5], [1, 1, 1], [2, 0, -2]]> : tensor<8x3xi8>} : () -> tensor<8x3x!quant.uniform<i8<-127:127>:f32:1, {5.000000e-01,2.500000e-01,1.250000e-01}>>
    %q = stablehlo.uniform_quantize %x : (tensor<4x8xf32>) -> tensor<4x8x!quant.uniform<i8:f32, 2.000000e-02:3>>
    %dot = stablehlo.dot_general %q, %weights, contracting_dims = [1] x [0] : (tensor<4x8x!quant.uniform<i8:f32, 2.000000e-02:3>>, tensor<8x3x!quant.uniform<i8<-127:127>:f32:1, {5.000000e-01,2.500000e-01,1.250000e-01}>>) -> tensor<4x3x!quant.uniform<i8:f32, 1.000000e-01:-5>>
    %y = stablehlo.uniform_dequantize %dot : (tensor<4x3x!quant.uniform<i8:f32, 1.000000e-01:-5>>) -> tensor<4x3xf32>
    %hybrid = stablehlo.dot_general %x, %weights, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x3x!quant.uniform<i8<-127:127>:f32:1, {5.000000e-01,2.500000e-01,1.250000e-01}>>) -> tensor<4x3xf32>
    return %y, %hybrid : tensor<4x3xf32>, tensor<4x3xf32>
  }
}
