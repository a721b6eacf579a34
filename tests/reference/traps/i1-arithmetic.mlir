// Trap: on i1, add and maximum are or, multiply and minimum are and.

func.func @main() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %c = stablehlo.add %a, %b : tensor<4xi1>
  check.expect_eq_const %c, dense<[false, true, true, true]> : tensor<4xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %c = stablehlo.maximum %a, %b : tensor<4xi1>
  check.expect_eq_const %c, dense<[false, true, true, true]> : tensor<4xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %c = stablehlo.multiply %a, %b : tensor<4xi1>
  check.expect_eq_const %c, dense<[false, false, false, true]> : tensor<4xi1>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %c = stablehlo.minimum %a, %b : tensor<4xi1>
  check.expect_eq_const %c, dense<[false, false, false, true]> : tensor<4xi1>
  func.return
}
