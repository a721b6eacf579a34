// Values: by hand; equal values keep their order.

func.func @main() {
  %x = stablehlo.constant dense<[[3, 9, 9, 1], [4, -2, 8, 0]]> : tensor<2x4xi32>
  %v, %i = chlo.top_k(%x, k=2) : tensor<2x4xi32> -> (tensor<2x2xi32>, tensor<2x2xi32>)
  check.expect_eq_const %v, dense<[[9, 9], [8, 4]]> : tensor<2x2xi32>
  check.expect_eq_const %i, dense<[[1, 2], [2, 0]]> : tensor<2x2xi32>
  func.return
}
