// Values: by hand.

func.func @main() {
  %lo = stablehlo.constant dense<[0, 0, 0]> : tensor<3xi32>
  %x = stablehlo.constant dense<[-5, 1, 7]> : tensor<3xi32>
  %hi = stablehlo.constant dense<[3, 3, 3]> : tensor<3xi32>
  %y = stablehlo.clamp %lo, %x, %hi : (tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[0, 1, 3]> : tensor<3xi32>
  func.return
}

// -----

// Bounds of rank 0 are for every element.
func.func @main() {
  %lo = stablehlo.constant dense<-1.0> : tensor<f32>
  %x = stablehlo.constant dense<[[-5.0, 0.5], [7.0, 1.0]]> : tensor<2x2xf32>
  %hi = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.clamp %lo, %x, %hi : (tensor<f32>, tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[-1.0, 0.5], [1.0, 1.0]]> : tensor<2x2xf32>
  func.return
}

// -----

// With bounds in the wrong order the upper one wins.
func.func @main() {
  %lo = stablehlo.constant dense<5> : tensor<ui8>
  %x = stablehlo.constant dense<[1, 9]> : tensor<2xui8>
  %hi = stablehlo.constant dense<2> : tensor<ui8>
  %y = stablehlo.clamp %lo, %x, %hi : (tensor<ui8>, tensor<2xui8>, tensor<ui8>) -> tensor<2xui8>
  check.expect_eq_const %y, dense<[2, 2]> : tensor<2xui8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0xf32>
  %y = stablehlo.clamp %x, %x, %x : tensor<0xf32>
  check.expect_eq_const %y, dense<> : tensor<0xf32>
  func.return
}
