// A loop in a loop, a choice between three functions in it, a call, and a branch at the end.
module @nested_loops {
  func.func private @smooth(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
    %half = stablehlo.constant dense<5.000000e-01> : tensor<6x4xf32>
    %t = stablehlo.tanh %x : tensor<6x4xf32>
    %r = stablehlo.multiply %t, %half : tensor<6x4xf32>
    return %r : tensor<6x4xf32>
  }
  func.func @main(%x: tensor<6x4xf32>, %w: tensor<4x4xf32>) -> (tensor<6x4xf32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %start = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %state, %steps, %sum = stablehlo.while(%s = %x, %i = %zero, %total = %start) : tensor<6x4xf32>, tensor<i32>, tensor<f32>
    cond {
      %limit = stablehlo.constant dense<5> : tensor<i32>
      %go = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %which = stablehlo.remainder %i, %three : tensor<i32>
      %d = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
      %chosen = "stablehlo.case"(%which) ({
        %a = func.call @smooth(%d) : (tensor<6x4xf32>) -> tensor<6x4xf32>
        stablehlo.return %a : tensor<6x4xf32>
      }, {
        %b = stablehlo.cosine %d : tensor<6x4xf32>
        stablehlo.return %b : tensor<6x4xf32>
      }, {
        %e = stablehlo.logistic %d : tensor<6x4xf32>
        %f = stablehlo.subtract %e, %s : tensor<6x4xf32>
        stablehlo.return %f : tensor<6x4xf32>
      }) : (tensor<i32>) -> tensor<6x4xf32>
      %more = stablehlo.reduce(%chosen init: %total) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<f32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %chosen, %next, %more : tensor<6x4xf32>, tensor<i32>, tensor<f32>
    }
    %isPositive = stablehlo.compare GT, %sum, %start, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %last = "stablehlo.if"(%isPositive) ({
      %n = stablehlo.negate %state : tensor<6x4xf32>
      stablehlo.return %n : tensor<6x4xf32>
    }, {
      %m = func.call @smooth(%state) : (tensor<6x4xf32>) -> tensor<6x4xf32>
      stablehlo.return %m : tensor<6x4xf32>
    }) : (tensor<i1>) -> tensor<6x4xf32>
    return %last, %sum : tensor<6x4xf32>, tensor<f32>
  }
}
