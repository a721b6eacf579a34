// A multilayer perceptron with one hidden layer, relu and softmax.
module @mlp {
  func.func @main(%x: tensor<8x16xf32>, %w1: tensor<16x32xf32>, %b1: tensor<32xf32>,
                  %w2: tensor<32x10xf32>, %b2: tensor<10xf32>) -> tensor<8x10xf32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %h0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %bias1 = stablehlo.broadcast_in_dim %b1, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>
    %h1 = stablehlo.add %h0, %bias1 : tensor<8x32xf32>
    %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x32xf32>
    %h2 = stablehlo.maximum %h1, %zeros : tensor<8x32xf32>
    %l0 = stablehlo.dot_general %h2, %w2, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x10xf32>) -> tensor<8x10xf32>
    %bias2 = stablehlo.broadcast_in_dim %b2, dims = [1] : (tensor<10xf32>) -> tensor<8x10xf32>
    %logits = stablehlo.add %l0, %bias2 : tensor<8x10xf32>
    %max = stablehlo.reduce(%logits init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %maxes = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %shifted = stablehlo.subtract %logits, %maxes : tensor<8x10xf32>
    %exp = stablehlo.exponential %shifted : tensor<8x10xf32>
    %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %result = stablehlo.divide %exp, %sums : tensor<8x10xf32>
    return %result : tensor<8x10xf32>
  }
}
