// Values: by hand.

// A slice that is started and waited for.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %f = "stablehlo.async_start"(%x) ({
    ^bb0(%a: tensor<4xi32>):
      %b = stablehlo.slice %a [1:3] : (tensor<4xi32>) -> tensor<2xi32>
      stablehlo.return %b : tensor<2xi32>
  }) : (tensor<4xi32>) -> !stablehlo.future<tensor<2xi32>>
  %y = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xi32>>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[2, 3]> : tensor<2xi32>
  func.return
}
