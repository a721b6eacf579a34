// Trap: quantize divides by the scale, adds the zero point, clamps, then rounds to even.

func.func @main() {
  %x = stablehlo.constant dense<[0.25, 0.75]> : tensor<2xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  %y = stablehlo.bitcast_convert %q : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2xi8>
  check.expect_eq_const %y, dense<[4, 4]> : tensor<2xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1000.0, -1000.0]> : tensor<2xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  %y = stablehlo.bitcast_convert %q : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2xi8>
  check.expect_eq_const %y, dense<[127, -128]> : tensor<2xi8>
  func.return
}
