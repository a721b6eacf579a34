// Trap: integer add, subtract, multiply and negate wrap; nothing saturates.

func.func @main() {
  %a = stablehlo.constant dense<[127, -128]> : tensor<2xi8>
  %b = stablehlo.constant dense<[1, -1]> : tensor<2xi8>
  %c = stablehlo.add %a, %b : tensor<2xi8>
  check.expect_eq_const %c, dense<[-128, 127]> : tensor<2xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-128, 0]> : tensor<2xi8>
  %b = stablehlo.constant dense<[1, 0]> : tensor<2xi8>
  %c = stablehlo.subtract %a, %b : tensor<2xi8>
  check.expect_eq_const %c, dense<[127, 0]> : tensor<2xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[65536, 46341]> : tensor<2xi32>
  %b = stablehlo.constant dense<[65536, 46341]> : tensor<2xi32>
  %c = stablehlo.multiply %a, %b : tensor<2xi32>
  check.expect_eq_const %c, dense<[0, -2147479015]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[-32768]> : tensor<1xi16>
  %y = stablehlo.negate %x : tensor<1xi16>
  check.expect_eq_const %y, dense<[-32768]> : tensor<1xi16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[255]> : tensor<1xui8>
  %b = stablehlo.constant dense<[1]> : tensor<1xui8>
  %c = stablehlo.add %a, %b : tensor<1xui8>
  check.expect_eq_const %c, dense<[0]> : tensor<1xui8>
  func.return
}
