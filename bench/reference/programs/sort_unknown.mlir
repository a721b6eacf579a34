func.func @main(%k: tensor<1000000xf32>, %p: tensor<1000000xi32>) -> (tensor<1000000xf32>, tensor<1000000xi32>) {
  %0:2 = "stablehlo.sort"(%k, %p) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %x = stablehlo.abs %a : tensor<f32>
      %y = stablehlo.abs %b : tensor<f32>
      %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %r : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<1000000xf32>, tensor<1000000xi32>) -> (tensor<1000000xf32>, tensor<1000000xi32>)
  return %0#0, %0#1 : tensor<1000000xf32>, tensor<1000000xi32>
}
