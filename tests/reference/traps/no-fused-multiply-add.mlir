// Trap: the product is rounded before it is added: (1 + 2^-12)^2 - (1 + 2^-11) is 0 in f32, with a fused operation it would be 2^-24.

func.func @main() {
  %a = stablehlo.constant dense<[1.0002441]> : tensor<1xf32>
  %b = stablehlo.constant dense<[-1.0004883]> : tensor<1xf32>
  %p = stablehlo.multiply %a, %a : tensor<1xf32>
  %s = stablehlo.add %p, %b : tensor<1xf32>
  check.expect_eq_const %s, dense<[0.0]> : tensor<1xf32>
  func.return
}
