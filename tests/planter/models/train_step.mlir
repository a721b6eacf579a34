// A step of gradient descent on a linear layer with a squared error: loss, and the weights after it.
module @train_step {
  func.func @main(%x: tensor<16x8xf32>, %target: tensor<16x4xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> (tensor<f32>, tensor<8x4xf32>, tensor<4xf32>) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %count = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %rate = stablehlo.constant dense<1.562500e-02> : tensor<8x4xf32>
    %brate = stablehlo.constant dense<1.562500e-02> : tensor<4xf32>
    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
    %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<16x4xf32>
    %y = stablehlo.add %p, %bias : tensor<16x4xf32>
    %error = stablehlo.subtract %y, %target : tensor<16x4xf32>
    %square = stablehlo.multiply %error, %error : tensor<16x4xf32>
    %sum = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<f32>
    %loss = stablehlo.divide %sum, %count : tensor<f32>
    %gw = stablehlo.dot_general %x, %error, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %gb = stablehlo.reduce(%error init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<4xf32>
    %sw = stablehlo.multiply %gw, %rate : tensor<8x4xf32>
    %sb = stablehlo.multiply %gb, %brate : tensor<4xf32>
    %w2 = stablehlo.subtract %w, %sw : tensor<8x4xf32>
    %b2 = stablehlo.subtract %b, %sb : tensor<4xf32>
    return %loss, %w2, %b2 : tensor<f32>, tensor<8x4xf32>, tensor<4xf32>
  }
}
