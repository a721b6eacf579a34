// Trap: exp, log, tanh and the like of bf16 are computed exactly enough and rounded once (values: mpmath), not composed of bf16 steps.

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.5, -3.0, 0.10009765625]> : tensor<4xbf16>
  %y = stablehlo.exponential %x : tensor<4xbf16>
  check.expect_eq_const %y, dense<[2.71875, 12.1875, 0.0498046875, 1.1015625]> : tensor<4xbf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.5, -3.0, 0.10009765625]> : tensor<4xbf16>
  %y = stablehlo.tanh %x : tensor<4xbf16>
  check.expect_eq_const %y, dense<[0.76171875, 0.98828125, -0.99609375, 0.099609375]> : tensor<4xbf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.5, 3.0, 0.1]> : tensor<4xf16>
  %y = stablehlo.log %x : tensor<4xf16>
  check.expect_eq_const %y, dense<[0.0, 0.9165, 1.099, -2.303]> : tensor<4xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[3.0, 7.0, 0.10009765625]> : tensor<3xbf16>
  %y = stablehlo.rsqrt %x : tensor<3xbf16>
  check.expect_eq_const %y, dense<[0.578125, 0.37890625, 3.15625]> : tensor<3xbf16>
  func.return
}
