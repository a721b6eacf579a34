// The three largest values of each row with their positions: a stable two-operand sort and a slice.
module @sort {
  func.func @main(%scores: tensor<4x16xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
    %positions = stablehlo.iota dim = 1 : tensor<4x16xi32>
    %sorted:2 = "stablehlo.sort"(%scores, %positions) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
      %greater = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %greater : tensor<i1>
    }) : (tensor<4x16xf32>, tensor<4x16xi32>) -> (tensor<4x16xf32>, tensor<4x16xi32>)
    %values = stablehlo.slice %sorted#0 [0:4, 0:3] : (tensor<4x16xf32>) -> tensor<4x3xf32>
    %where = stablehlo.slice %sorted#1 [0:4, 0:3] : (tensor<4x16xi32>) -> tensor<4x3xi32>
    return %values, %where : tensor<4x3xf32>, tensor<4x3xi32>
  }
}
