// Trap: operands are converted to the result type first; products and sums are in that type, one by one from zero.

// 100 * 100 + 100 * 100 does not fit into i8.
func.func @main() {
  %a = stablehlo.constant dense<[[100, 100]]> : tensor<1x2xi8>
  %b = stablehlo.constant dense<[[100], [100]]> : tensor<2x1xi8>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x2xi8>, tensor<2x1xi8>) -> tensor<1x1xi32>
  check.expect_eq_const %y, dense<[[20000]]> : tensor<1x1xi32>
  func.return
}

// -----

// bf16 into f32 keeps every bit.
func.func @main() {
  %a = stablehlo.constant dense<[[256.0, 1.0, 1.0]]> : tensor<1x3xbf16>
  %b = stablehlo.constant dense<[[1.0], [1.0], [1.0]]> : tensor<3x1xbf16>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x3xbf16>, tensor<3x1xbf16>) -> tensor<1x1xf32>
  check.expect_eq_const %y, dense<[[258.0]]> : tensor<1x1xf32>
  func.return
}

// -----

// In bf16 itself 256 + 1 + 1 stays 256.
func.func @main() {
  %a = stablehlo.constant dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>
  %b = stablehlo.constant dense<[1.0, 1.0, 1.0]> : tensor<3xbf16>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<bf16>
  check.expect_eq_const %y, dense<256.0> : tensor<bf16>
  func.return
}
