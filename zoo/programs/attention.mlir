// One causal attention head over a batch, in bf16 with f32 softmax.
module @attention {
  func.func @main(%q: tensor<2x4x16x8xbf16>, %k: tensor<2x4x16x8xbf16>, %v: tensor<2x4x16x8xbf16>) -> tensor<2x4x16x8xbf16> {
    %scale = stablehlo.constant dense<0.353553385> : tensor<f32>
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %scores = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x4x16x8xbf16>, tensor<2x4x16x8xbf16>) -> tensor<2x4x16x16xf32>
    %scales = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<2x4x16x16xf32>
    %scaled = stablehlo.multiply %scores, %scales : tensor<2x4x16x16xf32>
    %row = stablehlo.iota dim = 0 : tensor<16x16xi32>
    %column = stablehlo.iota dim = 1 : tensor<16x16xi32>
    %visible = stablehlo.compare GE, %row, %column, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %mask = stablehlo.broadcast_in_dim %visible, dims = [2, 3] : (tensor<16x16xi1>) -> tensor<2x4x16x16xi1>
    %hidden = stablehlo.broadcast_in_dim %lowest, dims = [] : (tensor<f32>) -> tensor<2x4x16x16xf32>
    %masked = stablehlo.select %mask, %scaled, %hidden : tensor<2x4x16x16xi1>, tensor<2x4x16x16xf32>
    %max = stablehlo.reduce(%masked init: %lowest) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x16x16xf32>, tensor<f32>) -> tensor<2x4x16xf32>
    %maxes = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x4x16xf32>) -> tensor<2x4x16x16xf32>
    %shifted = stablehlo.subtract %masked, %maxes : tensor<2x4x16x16xf32>
    %exp = stablehlo.exponential %shifted : tensor<2x4x16x16xf32>
    %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x4x16x16xf32>, tensor<f32>) -> tensor<2x4x16xf32>
    %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x4x16xf32>) -> tensor<2x4x16x16xf32>
    %weights = stablehlo.divide %exp, %sums : tensor<2x4x16x16xf32>
    %narrow = stablehlo.convert %weights : (tensor<2x4x16x16xf32>) -> tensor<2x4x16x16xbf16>
    %result = stablehlo.dot_general %narrow, %v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x4x16x16xbf16>, tensor<2x4x16x8xbf16>) -> tensor<2x4x16x8xbf16>
    return %result : tensor<2x4x16x8xbf16>
  }
}
