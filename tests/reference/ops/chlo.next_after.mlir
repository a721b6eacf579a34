// Values: numpy.nextafter.

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 1.0, 0.0, 0.0]> : tensor<4xf32>
  %t = stablehlo.constant dense<[2.0, 0.0, 1.0, -1.0]> : tensor<4xf32>
  %y = chlo.next_after %x, %t : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %bits = stablehlo.bitcast_convert %y : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %bits, dense<[1065353217, 1065353215, 1, -2147483647]> : tensor<4xi32>
  func.return
}
