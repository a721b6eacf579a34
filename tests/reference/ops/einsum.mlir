// Values: numpy.einsum.

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = stablehlo.constant dense<[[-2.0, -1.0], [0.0, 1.0], [2.0, 3.0]]> : tensor<3x2xf32>
  %y = stablehlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[4.0, 10.0], [4.0, 19.0]]> : tensor<2x2xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %b = stablehlo.constant dense<[[-2, -1], [0, 1], [2, 3]]> : tensor<3x2xi32>
  %y = stablehlo.einsum %a, %b, config = "ab,bc->ca" : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[4, 4], [10, 19]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]]> : tensor<2x2x2xf64>
  %b = stablehlo.constant dense<[[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]]> : tensor<2x2x2xf64>
  %y = stablehlo.einsum %a, %b, config = "bij,bjk->bik" : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
  check.expect_eq_const %y, dense<[[[2.0, 3.0], [6.0, 11.0]], [[46.0, 55.0], [66.0, 79.0]]]> : tensor<2x2x2xf64>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[3.0, 4.0, 5.0]> : tensor<3xf32>
  %y = stablehlo.einsum %a, %b, config = "i,j->ij" : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]> : tensor<2x3xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xbf16>
  %b = stablehlo.constant dense<[1.0, 0.0, 2.0]> : tensor<3xbf16>
  %y = stablehlo.einsum %a, %b, config = "ab,b->a" : (tensor<2x3xbf16>, tensor<3xbf16>) -> tensor<2xbf16>
  check.expect_eq_const %y, dense<[7.0, 16.0]> : tensor<2xbf16>
  func.return
}

// -----

// A letter twice in an operand: its diagonal.
func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[5.0, 6.0, 7.0], [8.0, 9.0, 10.0]]> : tensor<2x3xf32>
  %y = stablehlo.einsum %a, %b, config = "ii,ij->ij" : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[5.0, 6.0, 7.0], [32.0, 36.0, 40.0]]> : tensor<2x3xf32>
  %z = stablehlo.einsum %a, %b, config = "ii,kj->jk" : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %z, dense<[[25.0, 40.0], [30.0, 45.0], [35.0, 50.0]]> : tensor<3x2xf32>
  func.return
}

// -----

// Quantized: by way of real numbers.
func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.5], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[0.5, -1.0], [2.0, 1.5]]> : tensor<2x2xf32>
  %p = stablehlo.uniform_quantize %a : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:3>>
  %q = stablehlo.uniform_quantize %b : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5:0>>
  %s = stablehlo.einsum %p, %q, config = "ab,bc->ac" : (tensor<2x2x!quant.uniform<i8:f32, 0.5:3>>, tensor<2x2x!quant.uniform<i8:f32, 0.5:0>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.25:-1>>
  %y = stablehlo.uniform_dequantize %s : (tensor<2x2x!quant.uniform<i8:f32, 0.25:-1>>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[5.5, 2.75], [9.5, 3.0]]> : tensor<2x2xf32>
  func.return
}
