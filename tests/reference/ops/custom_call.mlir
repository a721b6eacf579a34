// The check functions are the custom calls that are evaluated; values by hand.

func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3, 6]> : tensor<2xi32>
  %c = stablehlo.constant dense<3> : tensor<2xi32>
  %d = stablehlo.multiply %a, %c : tensor<2xi32>
  stablehlo.custom_call @check.expect_eq(%d, %b) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
  func.return
}

// -----

// Three units in the last place are allowed by expect_close, 1e-3 by expect_almost_eq.
func.func @main() {
  %a = stablehlo.constant dense<[0x3F800000, 0xBF800000]> : tensor<2xf32>
  %b = stablehlo.constant dense<[0x3F800003, 0xBF7FFFFD]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_close(%a, %b) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  %c = stablehlo.constant dense<[1.0005, -1.0005]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_almost_eq(%a, %c) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[1.00005, 2.0]> : tensor<2xf32>
  %y = stablehlo.custom_call @check.eq(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<i1>
  check.expect_eq_const %y, dense<true> : tensor<i1>
  func.return
}
