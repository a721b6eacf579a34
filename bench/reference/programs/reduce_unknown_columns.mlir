func.func @main(%a: tensor<4096x1024xf32>) -> tensor<1024xf32> {
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %i) across dimensions = [0] : (tensor<4096x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    reducer(%x: tensor<f32>, %y: tensor<f32>) {
      %m = stablehlo.abs %y : tensor<f32>
      %s = stablehlo.add %x, %m : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }
  return %0 : tensor<1024xf32>
}
