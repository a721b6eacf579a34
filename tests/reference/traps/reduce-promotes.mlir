// Trap: the function of a reduction may work on a wider type than the input: i8 summed in i32 does not wrap.

func.func @main() {
  %x = stablehlo.constant dense<[100, 100, 100]> : tensor<3xi8>
  %init = stablehlo.constant dense<0> : tensor<i8>
  %y = stablehlo.reduce(%x init: %init) across dimensions = [0] : (tensor<3xi8>, tensor<i8>) -> tensor<i32>
    reducer(%a: tensor<i32>, %b: tensor<i32>) {
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }
  check.expect_eq_const %y, dense<300> : tensor<i32>
  func.return
}

// -----

// Quantized values are promoted to the type of the region.
func.func @main() {
  %xf = stablehlo.constant dense<[100.0, 120.0, 60.0, 3.5]> : tensor<4xf32>
  %x = stablehlo.uniform_quantize %xf : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 1.0:-2>>
  %zf = stablehlo.constant dense<0.5> : tensor<f32>
  %z = stablehlo.uniform_quantize %zf : (tensor<f32>) -> tensor<!quant.uniform<i32:f32, 0.5:1>>
  %s = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<!quant.uniform<i32:f32, 0.5:1>>, %b: tensor<!quant.uniform<i32:f32, 0.5:1>>):
      %c = stablehlo.add %a, %b : tensor<!quant.uniform<i32:f32, 0.5:1>>
      stablehlo.return %c : tensor<!quant.uniform<i32:f32, 0.5:1>>
  }) : (tensor<4x!quant.uniform<i8:f32, 1.0:-2>>, tensor<!quant.uniform<i32:f32, 0.5:1>>) -> tensor<!quant.uniform<i32:f32, 0.5:1>>
  %y = stablehlo.uniform_dequantize %s : (tensor<!quant.uniform<i32:f32, 0.5:1>>) -> tensor<f32>
  check.expect_eq_const %y, dense<284.5> : tensor<f32>
  func.return
}
