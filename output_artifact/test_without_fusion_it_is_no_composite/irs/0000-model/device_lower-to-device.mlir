module @model attributes {cupel.devices = {partitions = 1 : i64, replicas = 1 : i64, view = "global"}, tir.fusions = {rms_norm = 1 : i64}} {
  dev.program @main arena 0 {
    %0 = dev.argument 0 : !dev.buffer<tensor<4x16xf32>>
    %1 = dev.argument 1 : !dev.buffer<tensor<16xf32>>
    %2 = dev.result 0 : !dev.buffer<tensor<4x16xf32>>
    dev.launch(%0, %1) to(%2) : (!dev.buffer<tensor<4x16xf32>>, !dev.buffer<tensor<16xf32>>) to(!dev.buffer<tensor<4x16xf32>>) {
    ^bb0(%arg0: tensor<4x16xf32>, %arg1: tensor<16xf32>):
      %3 = tir.row(%arg0, %arg1) over [4] rows of 16 reading [#tir.view<0, [16, 1]>, #tir.view<0, [0, 1]>] : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32> {
      ^bb0(%arg2: tensor<16xf32>, %arg3: tensor<16xf32>):
        %4 = stablehlo.multiply %arg2, %arg2 : tensor<16xf32>
        %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
        %cst_0 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
        %6 = stablehlo.divide %5, %cst_0 : tensor<f32>
        %cst_1 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
        %7 = stablehlo.add %6, %cst_1 : tensor<f32>
        %8 = stablehlo.rsqrt %7 : tensor<f32>
        %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<16xf32>
        %10 = stablehlo.multiply %arg2, %9 : tensor<16xf32>
        %11 = stablehlo.multiply %arg3, %10 : tensor<16xf32>
        tir.yield %11 : tensor<16xf32>
      }
      dev.yield %3 : tensor<4x16xf32>
    }
  }
}

