// One function called twice, a square, a value that is zero often, a chain of three, a transpose in front of a product, a list that is
// sorted, and at the end a hyperbolic tangent of an argument itself behind one of a computed value.
module @shared_parts {
  func.func private @soften(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %third = stablehlo.constant dense<3.000000e-01> : tensor<4x16xf32>
    %small = stablehlo.multiply %x, %third : tensor<4x16xf32>
    %sine = stablehlo.sine %small : tensor<4x16xf32>
    return %sine : tensor<4x16xf32>
  }
  func.func @main(%x: tensor<4x16xf32>, %w: tensor<12x16xf32>, %y: tensor<4x12xf32>) -> (tensor<4x12xf32>, tensor<4xf32>, tensor<4x12xf32>, tensor<4x16xf32>) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %zeros = stablehlo.constant dense<0.000000e+00> : tensor<4x12xf32>
    %soft = func.call @soften(%x) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<12x16xf32>) -> tensor<16x12xf32>
    %product = stablehlo.dot_general %soft, %t, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x12xf32>) -> tensor<4x12xf32>
    %positive = stablehlo.maximum %product, %zeros : tensor<4x12xf32>
    %scaled = stablehlo.multiply %positive, %y : tensor<4x12xf32>
    %moved = stablehlo.add %scaled, %y : tensor<4x12xf32>
    %bent = stablehlo.tanh %moved : tensor<4x12xf32>
    %square = stablehlo.multiply %bent, %bent : tensor<4x12xf32>
    %length = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
    %root = stablehlo.sqrt %length : tensor<4xf32>
    %sorted = "stablehlo.sort"(%moved) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %less = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) {dimension = 1 : i64, is_stable = true} : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %again = func.call @soften(%x) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %own = stablehlo.tanh %x : tensor<4x16xf32>
    %sum = stablehlo.add %own, %again : tensor<4x16xf32>
    %out = stablehlo.subtract %square, %y : tensor<4x12xf32>
    return %out, %root, %sorted, %sum : tensor<4x12xf32>, tensor<4xf32>, tensor<4x12xf32>, tensor<4x16xf32>
  }
}
