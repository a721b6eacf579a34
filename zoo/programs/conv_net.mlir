// Two convolutions (one strided, one grouped), max pooling and a dense layer.
module @conv_net {
  func.func @main(%image: tensor<2x28x28x1xf32>, %k1: tensor<3x3x1x8xf32>, %k2: tensor<3x3x4x8xf32>,
                  %w: tensor<128x10xf32>) -> tensor<2x10xf32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c1 = stablehlo.convolution(%image, %k1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x28x28x1xf32>, tensor<3x3x1x8xf32>) -> tensor<2x14x14x8xf32>
    %z1 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x14x14x8xf32>
    %r1 = stablehlo.maximum %c1, %z1 : tensor<2x14x14x8xf32>
    %p1 = "stablehlo.reduce_window"(%r1, %lowest) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<2x14x14x8xf32>, tensor<f32>) -> tensor<2x7x7x8xf32>
    %c2 = stablehlo.convolution(%p1, %k2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x7x7x8xf32>, tensor<3x3x4x8xf32>) -> tensor<2x4x4x8xf32>
    %z2 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x4x4x8xf32>
    %r2 = stablehlo.maximum %c2, %z2 : tensor<2x4x4x8xf32>
    %flat = stablehlo.reshape %r2 : (tensor<2x4x4x8xf32>) -> tensor<2x128xf32>
    %result = stablehlo.dot_general %flat, %w, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x128xf32>, tensor<128x10xf32>) -> tensor<2x10xf32>
    return %result : tensor<2x10xf32>
  }
}
