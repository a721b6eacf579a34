// Values: by hand. stored = round to even (x / scale + zero point), kept within the storage range:
// the zero point is added before rounding, so that 0.25 / 0.5 + 3 = 3.5 and 0.75 / 0.5 + 3 = 4.5 both become 4.

func.func @main() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 0.25, 0.75, 1000.0, -1000.0]> : tensor<7xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<7xf32>) -> tensor<7x!quant.uniform<i8:f32, 0.5:3>>
  %y = stablehlo.bitcast_convert %q : (tensor<7x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<7xi8>
  check.expect_eq_const %y, dense<[3, 5, 1, 4, 4, 127, -128]> : tensor<7xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.0, 2.0, -5.0]> : tensor<3xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<3xf32>) -> tensor<3x!quant.uniform<u8:f32, 0.5:10>>
  %y = stablehlo.bitcast_convert %q : (tensor<3x!quant.uniform<u8:f32, 0.5:10>>) -> tensor<3xui8>
  check.expect_eq_const %y, dense<[10, 14, 0]> : tensor<3xui8>
  func.return
}

// -----

// A narrower storage range.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, 100.0, -100.0]> : tensor<3xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8<-8:7>:f32, 1.0>>
  %y = stablehlo.bitcast_convert %q : (tensor<3x!quant.uniform<i8<-8:7>:f32, 1.0>>) -> tensor<3xi8>
  check.expect_eq_const %y, dense<[0, 7, -8]> : tensor<3xi8>
  func.return
}

// -----

// Per axis: each column has its own scale and zero point.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 1.0], [-2.0, 3.0]]> : tensor<2x2xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5:0, 0.25:1}>>
  %y = stablehlo.uniform_dequantize %q : (tensor<2x2x!quant.uniform<i8:f32:1, {0.5:0, 0.25:1}>>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[1.0, 1.0], [-2.0, 3.0]]> : tensor<2x2xf32>
  func.return
}

// -----

// Quantized to quantized: stored 6 at (0.5, zero point 2) is 2.0, which at (0.25, zero point -1) is stored as 7.
func.func @main() {
  %x = stablehlo.constant() {value = dense<[6]> : tensor<1xi8>} : () -> tensor<1x!quant.uniform<i8:f32, 0.5:2>>
  %q = stablehlo.uniform_quantize %x : (tensor<1x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<1x!quant.uniform<i8:f32, 0.25:-1>>
  %y = stablehlo.bitcast_convert %q : (tensor<1x!quant.uniform<i8:f32, 0.25:-1>>) -> tensor<1xi8>
  check.expect_eq_const %y, dense<[7]> : tensor<1xi8>
  func.return
}
