// Trap: f4 and f6 have no infinity and saturate, f8E8M0FNU has neither sign nor zero (values from ml_dtypes).

func.func @main() {
  %a = stablehlo.constant dense<[0.5, 1.5, 3.0, 6.0, -1.0, -4.0, 2.0, 0.5]> : tensor<8xf4E2M1FN>
  %b = stablehlo.constant dense<[1.0, 0.5, 2.0, 6.0, -0.5, 1.5, -6.0, 1.0]> : tensor<8xf4E2M1FN>
  %sum = stablehlo.add %a, %b : tensor<8xf4E2M1FN>
  %product = stablehlo.multiply %a, %b : tensor<8xf4E2M1FN>
  %quotient = stablehlo.divide %a, %b : tensor<8xf4E2M1FN>
  %larger = stablehlo.compare GT, %a, %b : (tensor<8xf4E2M1FN>, tensor<8xf4E2M1FN>) -> tensor<8xi1>
  check.expect_eq_const %sum, dense<[1.5, 2.0, 4.0, 6.0, -1.5, -2.0, -4.0, 1.5]> : tensor<8xf4E2M1FN>
  check.expect_eq_const %product, dense<[0.5, 1.0, 6.0, 6.0, 0.5, -6.0, -6.0, 0.5]> : tensor<8xf4E2M1FN>
  check.expect_eq_const %quotient, dense<[0.5, 3.0, 1.5, 1.0, 2.0, -3.0, -0.5, 0.5]> : tensor<8xf4E2M1FN>
  check.expect_eq_const %larger, dense<[false, true, true, false, false, false, true, false]> : tensor<8xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0.5, 1.5, 3.0, 6.0, -1.0, -4.0, 2.0, 0.5]> : tensor<8xf6E2M3FN>
  %b = stablehlo.constant dense<[1.0, 0.5, 2.0, 6.0, -0.5, 1.5, -6.0, 1.0]> : tensor<8xf6E2M3FN>
  %sum = stablehlo.add %a, %b : tensor<8xf6E2M3FN>
  %product = stablehlo.multiply %a, %b : tensor<8xf6E2M3FN>
  %quotient = stablehlo.divide %a, %b : tensor<8xf6E2M3FN>
  %larger = stablehlo.compare GT, %a, %b : (tensor<8xf6E2M3FN>, tensor<8xf6E2M3FN>) -> tensor<8xi1>
  check.expect_eq_const %sum, dense<[1.5, 2.0, 5.0, 7.5, -1.5, -2.5, -4.0, 1.5]> : tensor<8xf6E2M3FN>
  check.expect_eq_const %product, dense<[0.5, 0.75, 6.0, 7.5, 0.5, -6.0, -7.5, 0.5]> : tensor<8xf6E2M3FN>
  check.expect_eq_const %quotient, dense<[0.5, 3.0, 1.5, 1.0, 2.0, -2.75, -0.375, 0.5]> : tensor<8xf6E2M3FN>
  check.expect_eq_const %larger, dense<[false, true, true, false, false, false, true, false]> : tensor<8xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0.5, 1.5, 3.0, 6.0, -1.0, -4.0, 2.0, 0.5]> : tensor<8xf6E3M2FN>
  %b = stablehlo.constant dense<[1.0, 0.5, 2.0, 6.0, -0.5, 1.5, -6.0, 1.0]> : tensor<8xf6E3M2FN>
  %sum = stablehlo.add %a, %b : tensor<8xf6E3M2FN>
  %product = stablehlo.multiply %a, %b : tensor<8xf6E3M2FN>
  %quotient = stablehlo.divide %a, %b : tensor<8xf6E3M2FN>
  %larger = stablehlo.compare GT, %a, %b : (tensor<8xf6E3M2FN>, tensor<8xf6E3M2FN>) -> tensor<8xi1>
  check.expect_eq_const %sum, dense<[1.5, 2.0, 5.0, 12.0, -1.5, -2.5, -4.0, 1.5]> : tensor<8xf6E3M2FN>
  check.expect_eq_const %product, dense<[0.5, 0.75, 6.0, 28.0, 0.5, -6.0, -12.0, 0.5]> : tensor<8xf6E3M2FN>
  check.expect_eq_const %quotient, dense<[0.5, 3.0, 1.5, 1.0, 2.0, -2.5, -0.3125, 0.5]> : tensor<8xf6E3M2FN>
  check.expect_eq_const %larger, dense<[false, true, true, false, false, false, true, false]> : tensor<8xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0.5, 1.5, 3.0, 6.0, -1.0, -4.0, 2.0, 0.5]> : tensor<8xf8E3M4>
  %b = stablehlo.constant dense<[1.0, 0.5, 2.0, 6.0, -0.5, 1.5, -6.0, 1.0]> : tensor<8xf8E3M4>
  %sum = stablehlo.add %a, %b : tensor<8xf8E3M4>
  %product = stablehlo.multiply %a, %b : tensor<8xf8E3M4>
  %quotient = stablehlo.divide %a, %b : tensor<8xf8E3M4>
  %larger = stablehlo.compare GT, %a, %b : (tensor<8xf8E3M4>, tensor<8xf8E3M4>) -> tensor<8xi1>
  check.expect_eq_const %sum, dense<[1.5, 2.0, 5.0, 12.0, -1.5, -2.5, -4.0, 1.5]> : tensor<8xf8E3M4>
  check.expect_eq_const %product, dense<[0.5, 0.75, 6.0, 0x70, 0.5, -6.0, -12.0, 0.5]> : tensor<8xf8E3M4>
  check.expect_eq_const %quotient, dense<[0.5, 3.0, 1.5, 1.0, 2.0, -2.625, -0.328125, 0.5]> : tensor<8xf8E3M4>
  check.expect_eq_const %larger, dense<[false, true, true, false, false, false, true, false]> : tensor<8xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0.5, 1.0, 4.0, 5.877471754111438e-39, 1.7014118346046923e+38, 2.0, 1.0, 8.0]> : tensor<8xf8E8M0FNU>
  %b = stablehlo.constant dense<[1.0, 1.0, 2.0, 0.5, 2.0, 0.125, 4.0, 8.0]> : tensor<8xf8E8M0FNU>
  %sum = stablehlo.add %a, %b : tensor<8xf8E8M0FNU>
  %product = stablehlo.multiply %a, %b : tensor<8xf8E8M0FNU>
  %quotient = stablehlo.divide %a, %b : tensor<8xf8E8M0FNU>
  %larger = stablehlo.compare GT, %a, %b : (tensor<8xf8E8M0FNU>, tensor<8xf8E8M0FNU>) -> tensor<8xi1>
  check.expect_eq_const %sum, dense<[2.0, 2.0, 8.0, 0.5, 1.7014118346046923e+38, 2.0, 4.0, 16.0]> : tensor<8xf8E8M0FNU>
  check.expect_almost_eq_const %product, dense<[0.5, 1.0, 8.0, 5.877471754111438e-39, 0xFF, 0.25, 4.0, 64.0]> : tensor<8xf8E8M0FNU>, tolerance = 0.0
  check.expect_eq_const %quotient, dense<[0.5, 1.0, 2.0, 1.1754943508222875e-38, 8.507059173023462e+37, 16.0, 0.25, 1.0]> : tensor<8xf8E8M0FNU>
  check.expect_eq_const %larger, dense<[false, false, true, false, true, true, false, false]> : tensor<8xi1>
  func.return
}

// -----

// Sums are wide: in f8E3M4, 15.5 + 0.5 step by step would be infinite.
func.func @main() {
  %a = stablehlo.constant dense<[[15.5, 0.25, -15.5], [1.0, 2.0, 3.0]]> : tensor<2x3xf8E3M4>
  %b = stablehlo.constant dense<[[1.0], [2.0], [1.0]]> : tensor<3x1xf8E3M4>
  %product = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf8E3M4>, tensor<3x1xf8E3M4>) -> tensor<2x1xf8E3M4>
  check.expect_eq_const %product, dense<[[0.5], [8.0]]> : tensor<2x1xf8E3M4>
  func.return
}

// -----

// Moved and looked at as bits, sorted, selected, counted.
func.func @main() {
  %bits = stablehlo.constant dense<[7, 1, 15, 2]> : tensor<4xui4>
  %x = stablehlo.bitcast_convert %bits : (tensor<4xui4>) -> tensor<4xf4E2M1FN>
  check.expect_eq_const %x, dense<[6.0, 0.5, -6.0, 1.0]> : tensor<4xf4E2M1FN>
  %negative = stablehlo.constant dense<[-0.0, -1.0]> : tensor<2xf4E2M1FN>
  %none_of_it = stablehlo.constant dense<[3.0, 0.0]> : tensor<2xf4E2M1FN>
  %zeros = stablehlo.multiply %negative, %none_of_it : tensor<2xf4E2M1FN>
  %signs = stablehlo.bitcast_convert %zeros : (tensor<2xf4E2M1FN>) -> tensor<2xui4>
  check.expect_eq_const %signs, dense<[8, 8]> : tensor<2xui4>
  %sorted = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f4E2M1FN>, %b: tensor<f4E2M1FN>):
    %less = stablehlo.compare LT, %a, %b : (tensor<f4E2M1FN>, tensor<f4E2M1FN>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4xf4E2M1FN>) -> tensor<4xf4E2M1FN>
  check.expect_eq_const %sorted, dense<[-6.0, 0.5, 1.0, 6.0]> : tensor<4xf4E2M1FN>
  %zero = stablehlo.constant dense<0.0> : tensor<f4E2M1FN>
  %most = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<4xf4E2M1FN>, tensor<f4E2M1FN>) -> tensor<f4E2M1FN>
  check.expect_eq_const %most, dense<6.0> : tensor<f4E2M1FN>
  %y = stablehlo.constant dense<[1.0, 0.5, 0.5, 2.0]> : tensor<4xf4E2M1FN>
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf4E2M1FN>, tensor<f4E2M1FN>) -> tensor<f4E2M1FN>
  check.expect_eq_const %sum, dense<4.0> : tensor<f4E2M1FN>
  %padded = stablehlo.pad %x, %zero, low = [1], high = [0], interior = [0] : (tensor<4xf4E2M1FN>, tensor<f4E2M1FN>) -> tensor<5xf4E2M1FN>
  check.expect_eq_const %padded, dense<[0.0, 6.0, 0.5, -6.0, 1.0]> : tensor<5xf4E2M1FN>
  %count = stablehlo.iota dim = 0 : tensor<6xf6E2M3FN>
  check.expect_eq_const %count, dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<6xf6E2M3FN>
  %scale = stablehlo.constant dense<"0x00FF"> : tensor<2xf8E8M0FNU>
  %back = stablehlo.bitcast_convert %scale : (tensor<2xf8E8M0FNU>) -> tensor<2xui8>
  check.expect_eq_const %back, dense<[0, 255]> : tensor<2xui8>
  %none = stablehlo.constant dense<> : tensor<0xf8E3M4>
  %nothing = stablehlo.add %none, %none : tensor<0xf8E3M4>
  %root = stablehlo.sqrt %count : tensor<6xf6E2M3FN>
  check.expect_eq_const %root, dense<[0.0, 1.0, 1.375, 1.75, 2.0, 2.25]> : tensor<6xf6E2M3FN>
  func.return
}
