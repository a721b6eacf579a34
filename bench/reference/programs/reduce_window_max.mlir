func.func @main(%a: tensor<64x112x112xf32>) -> tensor<64x110x110xf32> {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %m = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1, 3, 3>} : (tensor<64x112x112xf32>, tensor<f32>) -> tensor<64x110x110xf32>
  return %0 : tensor<64x110x110xf32>
}
