// Values: by hand.

func.func @main() {
  %a = stablehlo.constant dense<[-1, 2]> : tensor<2xi64>
  check.expect_eq_const %a, dense<[-1, 2]> : tensor<2xi64>
  func.return
}

// -----

// A splat fills the shape.
func.func @main() {
  %a = stablehlo.constant dense<1.5> : tensor<2x2xbf16>
  check.expect_eq_const %a, dense<[[1.5, 1.5], [1.5, 1.5]]> : tensor<2x2xbf16>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  check.expect_eq_const %a, dense<[true, false, true]> : tensor<3xi1>
  func.return
}

// -----

// Bits that spell a float.
func.func @main() {
  %a = stablehlo.constant dense<0x3F800000> : tensor<f32>
  check.expect_eq_const %a, dense<1.0> : tensor<f32>
  func.return
}

// -----

// Quantized: stored 3 at scale 2 and zero point 15 is (3 - 15) * 2 = -24.
func.func @main() {
  %a = stablehlo.constant() {value = dense<[3]> : tensor<1xi8>} : () -> tensor<1x!quant.uniform<i8:f32, 2.0:15>>
  %b = stablehlo.uniform_dequantize %a : (tensor<1x!quant.uniform<i8:f32, 2.0:15>>) -> tensor<1xf32>
  check.expect_eq_const %b, dense<[-24.0]> : tensor<1xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %b = stablehlo.convert %a : (tensor<2xi4>) -> tensor<2xi32>
  check.expect_eq_const %b, dense<[-8, 7]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x4xf32>
  check.expect_eq_const %a, dense<> : tensor<0x4xf32>
  func.return
}
