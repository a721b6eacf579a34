// Values: by hand.

func.func @main() {
  %x0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %x1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %y:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each], [@each]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  check.expect_eq_const %y#0, dense<[1, 2, 3, 4]> : tensor<4xi32>
  check.expect_eq_const %y#1, dense<[1, 2, 3, 4]> : tensor<4xi32>
  func.return
}
func.func @each(%x: tensor<2xi32>) -> tensor<4xi32> {
  %f = "stablehlo.async_start"(%x) ({
    ^bb0(%a: tensor<2xi32>):
      %b = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<4xi32>
      stablehlo.return %b : tensor<4xi32>
  }) : (tensor<2xi32>) -> !stablehlo.future<tensor<4xi32>>
  %y = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xi32>>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}
