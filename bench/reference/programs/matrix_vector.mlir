func.func @main(%a: tensor<2048x2048xf32>, %b: tensor<2048xf32>) -> tensor<2048xf32> {
  %0 = stablehlo.dot %a, %b : (tensor<2048x2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  return %0 : tensor<2048xf32>
}
