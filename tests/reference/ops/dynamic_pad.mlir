// Values: NumPy.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
  %v = stablehlo.constant dense<7> : tensor<i32>
  %lo = stablehlo.constant dense<[1, -1]> : tensor<2xi64>
  %hi = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
  %in = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %y = stablehlo.dynamic_pad %x, %v, %lo, %hi, %in : (tensor<2x3xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<4x8xi32>
  check.expect_eq_const %y, dense<[[7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 1, 7, 7, 2, 7, 7], [7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 4, 7, 7, 5, 7, 7]]> : tensor<4x8xi32>
  func.return
}
