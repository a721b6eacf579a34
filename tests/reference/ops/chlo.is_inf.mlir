// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %y = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %y, dense<[false, true, true, false]> : tensor<4xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %y = chlo.is_pos_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %y, dense<[false, true, false, false]> : tensor<4xi1>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %y = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %y, dense<[false, false, true, false]> : tensor<4xi1>
  func.return
}
