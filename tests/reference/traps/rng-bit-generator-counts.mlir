// Trap: THREE_FRY runs one counter for each 64-bit element: two calls of two elements give what one call of four gives, and the state moves on by the number of elements.

func.func @main() {
  %state = stablehlo.constant dense<[7, 41]> : tensor<2xui64>
  %s4, %four = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui64>)
  %s2, %two = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui64>)
  %s3, %more = stablehlo.rng_bit_generator %s2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui64>)
  %joined = stablehlo.concatenate %two, %more, dim = 0 : (tensor<2xui64>, tensor<2xui64>) -> tensor<4xui64>
  check.expect_eq %joined, %four : tensor<4xui64>
  check.expect_eq_const %s4, dense<[7, 45]> : tensor<2xui64>
  check.expect_eq %s3, %s4 : tensor<2xui64>
  func.return
}
