// Trap: bf16 and f16 round after each operation: in bf16 256 + 1 + 1 is 256, not 258.

func.func @main() {
  %a = stablehlo.constant dense<[256.0]> : tensor<1xbf16>
  %b = stablehlo.constant dense<[1.0]> : tensor<1xbf16>
  %c = stablehlo.add %a, %b : tensor<1xbf16>
  %d = stablehlo.add %c, %b : tensor<1xbf16>
  check.expect_eq_const %d, dense<[256.0]> : tensor<1xbf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[2.048e+03]> : tensor<1xf16>
  %b = stablehlo.constant dense<[1.0]> : tensor<1xf16>
  %c = stablehlo.add %a, %b : tensor<1xf16>
  %d = stablehlo.add %c, %b : tensor<1xf16>
  check.expect_eq_const %d, dense<[2.048e+03]> : tensor<1xf16>
  func.return
}
