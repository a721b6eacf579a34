// A convolution, a batch norm in inference, a rectifier, and the input added at the end; then the mean over the image.
module @residual_block {
  func.func @main(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>, %gain: tensor<4xf32>, %offset: tensor<4xf32>, %mean: tensor<4xf32>) -> (tensor<2x8x8x4xf32>, tensor<2x4xf32>) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %pixels = stablehlo.constant dense<6.400000e+01> : tensor<2x4xf32>
    %c = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x8x8x4xf32>
    %means = stablehlo.broadcast_in_dim %mean, dims = [3] : (tensor<4xf32>) -> tensor<2x8x8x4xf32>
    %centred = stablehlo.subtract %c, %means : tensor<2x8x8x4xf32>
    %gains = stablehlo.broadcast_in_dim %gain, dims = [3] : (tensor<4xf32>) -> tensor<2x8x8x4xf32>
    %scaled = stablehlo.multiply %centred, %gains : tensor<2x8x8x4xf32>
    %offsets = stablehlo.broadcast_in_dim %offset, dims = [3] : (tensor<4xf32>) -> tensor<2x8x8x4xf32>
    %normal = stablehlo.add %scaled, %offsets : tensor<2x8x8x4xf32>
    %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %active = stablehlo.maximum %normal, %zeros : tensor<2x8x8x4xf32>
    %result = stablehlo.add %active, %x : tensor<2x8x8x4xf32>
    %sum = stablehlo.reduce(%result init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x8x8x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %pooled = stablehlo.divide %sum, %pixels : tensor<2x4xf32>
    return %result, %pooled : tensor<2x8x8x4xf32>, tensor<2x4xf32>
  }
}
