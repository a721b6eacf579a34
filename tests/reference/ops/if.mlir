// Values: by hand.

func.func @main() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %a = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %y:2 = "stablehlo.if"(%p) ({
    %b = stablehlo.add %a, %a : tensor<2xi32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    stablehlo.return %b, %one : tensor<2xi32>, tensor<f32>
  }, {
    %b = stablehlo.negate %a : tensor<2xi32>
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    stablehlo.return %b, %two : tensor<2xi32>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<2xi32>, tensor<f32>)
  check.expect_eq_const %y#0, dense<[20, 40]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<1.0> : tensor<f32>
  func.return
}

// -----

func.func @main() {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %y:2 = "stablehlo.if"(%p) ({
    %b = stablehlo.add %a, %a : tensor<2xi32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    stablehlo.return %b, %one : tensor<2xi32>, tensor<f32>
  }, {
    %b = stablehlo.negate %a : tensor<2xi32>
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    stablehlo.return %b, %two : tensor<2xi32>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<2xi32>, tensor<f32>)
  check.expect_eq_const %y#0, dense<[-10, -20]> : tensor<2xi32>
  check.expect_eq_const %y#1, dense<2.0> : tensor<f32>
  func.return
}
