// Mean over a batch whose size is known only at run time, and rows padded up to a bound.
module @dynamic_shapes {
  func.func @main(%x: tensor<?x4xf32>, %rows: tensor<?x4xf32, #stablehlo.bounds<16, ?>>) -> (tensor<4xf32>, tensor<?x4xf32>, tensor<?x4xf32, #stablehlo.bounds<16, ?>>) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %four = stablehlo.constant dense<4> : tensor<1xi32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?x4xf32>, tensor<f32>) -> tensor<4xf32>
    %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %count = stablehlo.convert %size : (tensor<i32>) -> tensor<f32>
    %counts = stablehlo.broadcast_in_dim %count, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %mean = stablehlo.divide %sum, %counts : tensor<4xf32>
    %batch = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %shape = stablehlo.concatenate %batch, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %means = stablehlo.dynamic_broadcast_in_dim %mean, %shape, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %centered = stablehlo.subtract %x, %means : tensor<?x4xf32>
    %doubled = stablehlo.add %rows, %rows : tensor<?x4xf32, #stablehlo.bounds<16, ?>>
    return %mean, %centered, %doubled : tensor<4xf32>, tensor<?x4xf32>, tensor<?x4xf32, #stablehlo.bounds<16, ?>>
  }
}
