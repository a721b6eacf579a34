// Values: Python integers, the high half of the exact product.

func.func @main() {
  %a = stablehlo.constant dense<[4294967295, 65536]> : tensor<2xui32>
  %b = stablehlo.constant dense<[4294967295, 65536]> : tensor<2xui32>
  %y = chlo.mulhi %a, %b : tensor<2xui32>, tensor<2xui32> -> tensor<2xui32>
  check.expect_eq_const %y, dense<[4294967294, 1]> : tensor<2xui32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-9223372036854775808, -5]> : tensor<2xi64>
  %b = stablehlo.constant dense<[3, 4611686018427387904]> : tensor<2xi64>
  %y = chlo.mulhi %a, %b : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  check.expect_eq_const %y, dense<[-2, -2]> : tensor<2xi64>
  func.return
}
