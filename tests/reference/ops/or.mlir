// Values: NumPy.

func.func @main() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %c = stablehlo.or %a, %b : tensor<4xi1>
  check.expect_eq_const %c, dense<[false, true, true, true]> : tensor<4xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[12, 7, 85]> : tensor<3xi8>
  %b = stablehlo.constant dense<[10, 0, 15]> : tensor<3xi8>
  %c = stablehlo.or %a, %b : tensor<3xi8>
  check.expect_eq_const %c, dense<[14, 7, 95]> : tensor<3xi8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[12, 7, 85]> : tensor<3xui8>
  %b = stablehlo.constant dense<[10, 0, 15]> : tensor<3xui8>
  %c = stablehlo.or %a, %b : tensor<3xui8>
  check.expect_eq_const %c, dense<[14, 7, 95]> : tensor<3xui8>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[12, 7, 85]> : tensor<3xi32>
  %b = stablehlo.constant dense<[10, 0, 15]> : tensor<3xi32>
  %c = stablehlo.or %a, %b : tensor<3xi32>
  check.expect_eq_const %c, dense<[14, 7, 95]> : tensor<3xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[12, 7, 85]> : tensor<3xui64>
  %b = stablehlo.constant dense<[10, 0, 15]> : tensor<3xui64>
  %c = stablehlo.or %a, %b : tensor<3xui64>
  check.expect_eq_const %c, dense<[14, 7, 95]> : tensor<3xui64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-1, -128]> : tensor<2xi8>
  %b = stablehlo.constant dense<[5, 127]> : tensor<2xi8>
  %c = stablehlo.or %a, %b : tensor<2xi8>
  check.expect_eq_const %c, dense<[-1, -1]> : tensor<2xi8>
  func.return
}

// -----

// A tensor without elements.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x2xi32>
  %b = stablehlo.constant dense<> : tensor<0x2xi32>
  %c = stablehlo.or %a, %b : tensor<0x2xi32>
  check.expect_eq_const %c, dense<> : tensor<0x2xi32>
  func.return
}
