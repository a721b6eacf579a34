// Newton's iteration for square roots: stops after ten steps or when all elements are close.
module @while_loop {
  func.func @main(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<i32>) {
    %start = stablehlo.constant dense<1.000000e+00> : tensor<4xf64>
    %count = stablehlo.constant dense<0> : tensor<i32>
    %root, %steps = stablehlo.while(%guess = %start, %step = %count) : tensor<4xf64>, tensor<i32>
    cond {
      %limit = stablehlo.constant dense<10> : tensor<i32>
      %tolerance = stablehlo.constant dense<1.000000e-12> : tensor<4xf64>
      %false = stablehlo.constant dense<false> : tensor<i1>
      %square = stablehlo.multiply %guess, %guess : tensor<4xf64>
      %difference = stablehlo.subtract %square, %x : tensor<4xf64>
      %error = stablehlo.abs %difference : tensor<4xf64>
      %far = stablehlo.compare GT, %error, %tolerance, FLOAT : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>
      %any = stablehlo.reduce(%far init: %false) applies stablehlo.or across dimensions = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<i1>
      %more = stablehlo.compare LT, %step, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %go = stablehlo.and %any, %more : tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %half = stablehlo.constant dense<5.000000e-01> : tensor<4xf64>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %quotient = stablehlo.divide %x, %guess : tensor<4xf64>
      %sum = stablehlo.add %guess, %quotient : tensor<4xf64>
      %next = stablehlo.multiply %sum, %half : tensor<4xf64>
      %nextStep = stablehlo.add %step, %one : tensor<i32>
      stablehlo.return %next, %nextStep : tensor<4xf64>, tensor<i32>
    }
    return %root, %steps : tensor<4xf64>, tensor<i32>
  }
}
