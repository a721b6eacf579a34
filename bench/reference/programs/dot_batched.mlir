func.func @main(%a: tensor<16x256x128xf32>, %b: tensor<16x128x256xf32>) -> tensor<16x256x256xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<16x256x128xf32>, tensor<16x128x256xf32>) -> tensor<16x256x256xf32>
  return %0 : tensor<16x256x256xf32>
}
