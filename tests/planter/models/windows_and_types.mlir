// Pooling forth and back, a quantised product, narrow types, and a largest element with its place.
module @windows_and_types {
  func.func @main(%image: tensor<2x12x12x4xf32>, %kernel: tensor<3x3x4x8xbf16>, %w: tensor<8x6xi8>) -> (tensor<2x12x12x4xf32>, tensor<2x5x5x6xi32>, tensor<2x5x5xf32>, tensor<2x5x5xi32>, tensor<2x5x5x8xf16>) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %sixteen = stablehlo.constant dense<1.600000e+01> : tensor<2x5x5x8xf32>
    %low = stablehlo.constant dense<-127.0> : tensor<f32>
    %high = stablehlo.constant dense<127.0> : tensor<f32>
    %pooled = "stablehlo.reduce_window"(%image, %lowest) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<2x12x12x4xf32>, tensor<f32>) -> tensor<2x6x6x4xf32>
    %spread = "stablehlo.select_and_scatter"(%image, %pooled, %zero) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %ge = stablehlo.compare GE, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %ge : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2x12x12x4xf32>, tensor<2x6x6x4xf32>, tensor<f32>) -> tensor<2x12x12x4xf32>
    %narrow = stablehlo.convert %pooled : (tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xbf16>
    %c = stablehlo.convolution(%narrow, %kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 0], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x6x4xbf16>, tensor<3x3x4x8xbf16>) -> tensor<2x5x5x8xbf16>
    %wide = stablehlo.convert %c : (tensor<2x5x5x8xbf16>) -> tensor<2x5x5x8xf32>
    %scaled = stablehlo.multiply %wide, %sixteen : tensor<2x5x5x8xf32>
    %clamped = stablehlo.clamp %low, %scaled, %high : (tensor<f32>, tensor<2x5x5x8xf32>, tensor<f32>) -> tensor<2x5x5x8xf32>
    %rounded = stablehlo.round_nearest_even %clamped : tensor<2x5x5x8xf32>
    %q = stablehlo.convert %rounded : (tensor<2x5x5x8xf32>) -> tensor<2x5x5x8xi8>
    %product = stablehlo.dot_general %q, %w, contracting_dims = [3] x [0] : (tensor<2x5x5x8xi8>, tensor<8x6xi8>) -> tensor<2x5x5x6xi32>
    %places = stablehlo.iota dim = 3 : tensor<2x5x5x8xi32>
    %best:2 = stablehlo.reduce(%scaled init: %lowest), (%places init: %none) across dimensions = [3] : (tensor<2x5x5x8xf32>, tensor<2x5x5x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x5x5xf32>, tensor<2x5x5xi32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %larger = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v = stablehlo.select %larger, %a, %b : tensor<i1>, tensor<f32>
      %p = stablehlo.select %larger, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %v, %p : tensor<f32>, tensor<i32>
    }
    %half = stablehlo.convert %scaled : (tensor<2x5x5x8xf32>) -> tensor<2x5x5x8xf16>
    return %spread, %product, %best#0, %best#1, %half : tensor<2x12x12x4xf32>, tensor<2x5x5x6xi32>, tensor<2x5x5xf32>, tensor<2x5x5xi32>, tensor<2x5x5x8xf16>
  }
}
