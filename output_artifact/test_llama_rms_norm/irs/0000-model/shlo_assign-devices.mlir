module @model attributes {cupel.devices = {partitions = 1 : i64, replicas = 1 : i64, view = "global"}} {
  func.func @main(%arg0: tensor<4x16xf32>, %arg1: tensor<16xf32>) -> tensor<4x16xf32> {
    %0 = stablehlo.composite "tenstorrent.rms_norm" %arg0, %arg1 {composite_attributes = {epsilon = 9.99999997E-7 : f32, normalized_shape = dense<16> : tensor<1xi64>}, decomposition = @tenstorrent.rms_norm.impl} : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
    return %0 : tensor<4x16xf32>
  }
  func.func private @tenstorrent.rms_norm.impl(%arg0: tensor<4x16xf32>, %arg1: tensor<16xf32>) -> tensor<4x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.600000e+01> : tensor<4x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999997E-7> : tensor<4x1xf32>
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<4x16xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.reshape %1 : (tensor<4xf32>) -> tensor<4x1xf32>
    %3 = stablehlo.divide %2, %cst_0 : tensor<4x1xf32>
    %4 = stablehlo.add %3, %cst_1 : tensor<4x1xf32>
    %5 = stablehlo.rsqrt %4 : tensor<4x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x16xf32>
    %7 = stablehlo.multiply %arg0, %6 : tensor<4x16xf32>
    %8 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<16xf32>) -> tensor<4x16xf32>
    %9 = stablehlo.multiply %7, %8 : tensor<4x16xf32>
    return %9 : tensor<4x16xf32>
  }
}

