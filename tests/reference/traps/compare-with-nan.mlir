// Trap: a quiet comparison with NaN is false for all directions but NE.

func.func @main() {
  %a = stablehlo.constant dense<[0x7FC00000, 0x7FC00000, 1.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[1.0, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>
  %eq = stablehlo.compare EQ, %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %eq, dense<[false, false, false]> : tensor<3xi1>
  %ne = stablehlo.compare NE, %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %ne, dense<[true, true, true]> : tensor<3xi1>
  %ge = stablehlo.compare GE, %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %ge, dense<[false, false, false]> : tensor<3xi1>
  %gt = stablehlo.compare GT, %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %gt, dense<[false, false, false]> : tensor<3xi1>
  %le = stablehlo.compare LE, %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %le, dense<[false, false, false]> : tensor<3xi1>
  %lt = stablehlo.compare LT, %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %lt, dense<[false, false, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[0x7FC0]> : tensor<1xbf16>
  %b = stablehlo.constant dense<[0x7FC0]> : tensor<1xbf16>
  %eq = stablehlo.compare EQ, %a, %b : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xi1>
  check.expect_eq_const %eq, dense<[false]> : tensor<1xi1>
  %ne = stablehlo.compare NE, %a, %b : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xi1>
  check.expect_eq_const %ne, dense<[true]> : tensor<1xi1>
  %ge = stablehlo.compare GE, %a, %b : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xi1>
  check.expect_eq_const %ge, dense<[false]> : tensor<1xi1>
  %gt = stablehlo.compare GT, %a, %b : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xi1>
  check.expect_eq_const %gt, dense<[false]> : tensor<1xi1>
  %le = stablehlo.compare LE, %a, %b : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xi1>
  check.expect_eq_const %le, dense<[false]> : tensor<1xi1>
  %lt = stablehlo.compare LT, %a, %b : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xi1>
  check.expect_eq_const %lt, dense<[false]> : tensor<1xi1>
  func.return
}
