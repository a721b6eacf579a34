func.func @main(%a: tensor<1x64x56x56xf32>, %k: tensor<64x1x3x3xf32>) -> tensor<1x64x56x56xf32> {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 64 : i64, batch_group_count = 1 : i64}
      : (tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x56x56xf32>
  return %0 : tensor<1x64x56x56xf32>
}
