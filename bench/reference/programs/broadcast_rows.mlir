func.func @main(%a: tensor<2048xf32>) -> tensor<2048x2048xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  return %0 : tensor<2048x2048xf32>
}
