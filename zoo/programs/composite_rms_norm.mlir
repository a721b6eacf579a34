// An RMS norm kept whole as a composite, with the function that decomposes it.
module @composite_rms_norm {
  func.func @main(%x: tensor<4x16xf32>, %gain: tensor<16xf32>) -> tensor<4x16xf32> {
    %result = stablehlo.composite "cupel.rms_norm" %x, %gain {composite_attributes = {epsilon = 9.99999974E-6 : f32}, decomposition = @rms_norm} : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
    return %result : tensor<4x16xf32>
  }
  func.func private @rms_norm(%x: tensor<4x16xf32>, %gain: tensor<16xf32>) -> tensor<4x16xf32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %size = stablehlo.constant dense<1.600000e+01> : tensor<4xf32>
    %epsilon = stablehlo.constant dense<9.99999974E-6> : tensor<4xf32>
    %square = stablehlo.multiply %x, %x : tensor<4x16xf32>
    %sum = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %mean = stablehlo.divide %sum, %size : tensor<4xf32>
    %safe = stablehlo.add %mean, %epsilon : tensor<4xf32>
    %inverse = stablehlo.rsqrt %safe : tensor<4xf32>
    %factors = stablehlo.broadcast_in_dim %inverse, dims = [0] : (tensor<4xf32>) -> tensor<4x16xf32>
    %normal = stablehlo.multiply %x, %factors : tensor<4x16xf32>
    %gains = stablehlo.broadcast_in_dim %gain, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %result = stablehlo.multiply %normal, %gains : tensor<4x16xf32>
    return %result : tensor<4x16xf32>
  }
}
