// Trap: iota counts along its dimension and converts the count to the element type: in bf16 257 rounds to 256.

func.func @main() {
  %x = stablehlo.iota dim = 0 : tensor<258xbf16>
  %y = stablehlo.slice %x [257:258] : (tensor<258xbf16>) -> tensor<1xbf16>
  check.expect_eq_const %y, dense<[256.0]> : tensor<1xbf16>
  func.return
}
