module @model attributes {cupel.devices = {partitions = 1 : i64, replicas = 1 : i64, view = "global"}, tir.fusions = {rms_norm = 1 : i64}} {
  func.func @main(%arg0: tensor<4x16xf32>, %arg1: tensor<16xf32>) -> tensor<4x16xf32> {
    %0 = tir.row(%arg0, %arg1) over [4] rows of 16 reading [#tir.view<0, [16, 1]>, #tir.view<0, [0, 1]>] : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32> {
    ^bb0(%arg2: tensor<16xf32>, %arg3: tensor<16xf32>):
      %1 = stablehlo.multiply %arg2, %arg2 : tensor<16xf32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
      %cst_0 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
      %3 = stablehlo.divide %2, %cst_0 : tensor<f32>
      %cst_1 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
      %4 = stablehlo.add %3, %cst_1 : tensor<f32>
      %5 = stablehlo.rsqrt %4 : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<16xf32>
      %7 = stablehlo.multiply %arg2, %6 : tensor<16xf32>
      %8 = stablehlo.multiply %7, %arg3 : tensor<16xf32>
      tir.yield %8 : tensor<16xf32>
    }
    return %0 : tensor<4x16xf32>
  }
}

