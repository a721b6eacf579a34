// A branch on a predicate, a switch of three ways, and a tuple in between.
module @control_flow {
  func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = stablehlo.multiply %x, %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @main(%pred: tensor<i1>, %which: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
    %branch = "stablehlo.if"(%pred) ({
      %y = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %y : tensor<4xf32>
    }, {
      %y = stablehlo.negate %x : tensor<4xf32>
      stablehlo.return %y : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %choice = "stablehlo.case"(%which) ({
      stablehlo.return %branch : tensor<4xf32>
    }, {
      %y = stablehlo.sine %branch : tensor<4xf32>
      stablehlo.return %y : tensor<4xf32>
    }, {
      %y = stablehlo.tanh %branch : tensor<4xf32>
      stablehlo.return %y : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    %pair = stablehlo.tuple %branch, %choice : tuple<tensor<4xf32>, tensor<4xf32>>
    %result = stablehlo.get_tuple_element %pair[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
    return %result : tensor<4xf32>
  }
}
