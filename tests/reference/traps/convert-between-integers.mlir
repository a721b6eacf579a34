// Trap: integers are cut to the low bits, or extended by the signedness of the source.

func.func @main() {
  %x = stablehlo.constant dense<[-1]> : tensor<1xi8>
  %y = stablehlo.convert %x : (tensor<1xi8>) -> tensor<1xui16>
  check.expect_eq_const %y, dense<[65535]> : tensor<1xui16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[255]> : tensor<1xui8>
  %y = stablehlo.convert %x : (tensor<1xui8>) -> tensor<1xi16>
  check.expect_eq_const %y, dense<[255]> : tensor<1xi16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[511]> : tensor<1xi32>
  %y = stablehlo.convert %x : (tensor<1xi32>) -> tensor<1xi8>
  check.expect_eq_const %y, dense<[-1]> : tensor<1xi8>
  func.return
}
