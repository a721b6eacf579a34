// Values: by hand.

func.func @main() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi32>
  %y = "stablehlo.map"(%a, %b) ({
    ^bb0(%x: tensor<i32>, %z: tensor<i32>):
      %product = stablehlo.multiply %x, %z : tensor<i32>
      %sum = stablehlo.add %product, %x : tensor<i32>
      stablehlo.return %sum : tensor<i32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[6, 14], [24, 36]]> : tensor<2x2xi32>
  func.return
}

// -----

// The result may have another element type.
func.func @main() {
  %a = stablehlo.constant dense<[-1.5, 2.0]> : tensor<2xf32>
  %y = "stablehlo.map"(%a) ({
    ^bb0(%x: tensor<f32>):
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %positive = stablehlo.compare GT, %x, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %positive : tensor<i1>
  }) {dimensions = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xi1>
  check.expect_eq_const %y, dense<[false, true]> : tensor<2xi1>
  func.return
}
