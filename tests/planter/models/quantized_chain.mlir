// A convolution in bf16 and two layers of 8-bit numbers behind it: what the convolution rounds decides which step a
// number becomes, and a step is coarser than that noise.
module @quantized_chain {
  func.func @main(%x: tensor<2x8x8x4xf32>, %kernel: tensor<3x3x4x8xf32>, %first: tensor<8x16xf32>, %second: tensor<16x6xf32>) -> (tensor<72x6xf32>, tensor<72x16xi8>) {
    %tenth = stablehlo.constant dense<1.000000e-01> : tensor<3x3x4x8xf32>
    %scaled = stablehlo.multiply %kernel, %tenth : tensor<3x3x4x8xf32>
    %image = stablehlo.convert %x : (tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xbf16>
    %weights = stablehlo.convert %scaled : (tensor<3x3x4x8xf32>) -> tensor<3x3x4x8xbf16>
    %conv = stablehlo.convolution(%image, %weights) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xbf16>, tensor<3x3x4x8xbf16>) -> tensor<2x6x6x8xbf16>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<2x6x6x8xbf16>
    %relu = stablehlo.maximum %conv, %zero : tensor<2x6x6x8xbf16>
    %wide = stablehlo.convert %relu : (tensor<2x6x6x8xbf16>) -> tensor<2x6x6x8xf32>
    %rows = stablehlo.reshape %wide : (tensor<2x6x6x8xf32>) -> tensor<72x8xf32>
    %q0 = stablehlo.uniform_quantize %rows : (tensor<72x8xf32>) -> tensor<72x8x!quant.uniform<i8:f32, 2.000000e-02:-100>>
    %w1 = stablehlo.uniform_quantize %first : (tensor<8x16xf32>) -> tensor<8x16x!quant.uniform<i8<-127:127>:f32, 2.000000e-02>>
    %q1 = stablehlo.dot_general %q0, %w1, contracting_dims = [1] x [0] : (tensor<72x8x!quant.uniform<i8:f32, 2.000000e-02:-100>>, tensor<8x16x!quant.uniform<i8<-127:127>:f32, 2.000000e-02>>) -> tensor<72x16x!quant.uniform<i8:f32, 4.000000e-02:3>>
    %w2 = stablehlo.uniform_quantize %second : (tensor<16x6xf32>) -> tensor<16x6x!quant.uniform<i8<-127:127>:f32, 2.000000e-02>>
    %q2 = stablehlo.dot_general %q1, %w2, contracting_dims = [1] x [0] : (tensor<72x16x!quant.uniform<i8:f32, 4.000000e-02:3>>, tensor<16x6x!quant.uniform<i8<-127:127>:f32, 2.000000e-02>>) -> tensor<72x6x!quant.uniform<i8:f32, 2.000000e-01:-5>>
    %y = stablehlo.uniform_dequantize %q2 : (tensor<72x6x!quant.uniform<i8:f32, 2.000000e-01:-5>>) -> tensor<72x6xf32>
    %steps = stablehlo.bitcast_convert %q1 : (tensor<72x16x!quant.uniform<i8:f32, 4.000000e-02:3>>) -> tensor<72x16xi8>
    return %y, %steps : tensor<72x6xf32>, tensor<72x16xi8>
  }
}
