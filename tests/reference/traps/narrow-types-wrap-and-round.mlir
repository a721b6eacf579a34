// Trap: i2, i4 and their unsigned kinds wrap at their own width, 8-bit floats round after every operation (values: by hand; ml_dtypes for the floats).

func.func @main() {
  %a = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
  %b = stablehlo.constant dense<[1, -1, 2]> : tensor<3xi4>
  %c = stablehlo.add %a, %b : tensor<3xi4>
  %y = stablehlo.convert %c : (tensor<3xi4>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[-8, 7, 5]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[5, 15]> : tensor<2xui4>
  %b = stablehlo.constant dense<[5, 15]> : tensor<2xui4>
  %c = stablehlo.multiply %a, %b : tensor<2xui4>
  %y = stablehlo.convert %c : (tensor<2xui4>) -> tensor<2xui32>
  check.expect_eq_const %y, dense<[9, 1]> : tensor<2xui32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %b = stablehlo.constant dense<[1, -1]> : tensor<2xi2>
  %c = stablehlo.subtract %a, %b : tensor<2xi2>
  %y = stablehlo.convert %c : (tensor<2xi2>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[1, -2]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi4>
  %c = stablehlo.shift_right_arithmetic %a, %b : tensor<2xi4>
  %y = stablehlo.convert %c : (tensor<2xi4>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[-1, 0]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.125, 16.0]> : tensor<4xf8E4M3FN>
  %b = stablehlo.constant dense<[0.375, 4.0, 0.25, 1.25]> : tensor<4xf8E4M3FN>
  %c = stablehlo.add %a, %b : tensor<4xf8E4M3FN>
  %y = stablehlo.convert %c : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  check.expect_eq_const %y, dense<[1.875, 1.75, 0.375, 18.0]> : tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.125, 16.0]> : tensor<4xf8E4M3FN>
  %b = stablehlo.constant dense<[0.375, 4.0, 0.25, 1.25]> : tensor<4xf8E4M3FN>
  %c = stablehlo.multiply %a, %b : tensor<4xf8E4M3FN>
  %y = stablehlo.convert %c : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  check.expect_eq_const %y, dense<[0.5625, -9.0, 0.03125, 20.0]> : tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.5, -2.25, 0.125, 16.0]> : tensor<4xf8E5M2>
  %b = stablehlo.constant dense<[0.375, 4.0, 0.25, 1.25]> : tensor<4xf8E5M2>
  %c = stablehlo.add %a, %b : tensor<4xf8E5M2>
  %y = stablehlo.convert %c : (tensor<4xf8E5M2>) -> tensor<4xf32>
  check.expect_eq_const %y, dense<[2.0, 2.0, 0.375, 16.0]> : tensor<4xf32>
  func.return
}
