// Every form of text is read and printed back unchanged, also after a detour through the generic
// form and through MLIR bytecode.
// RUN: grep -v '^//' %s > %t.text
// RUN: cupel opt %s | diff %t.text -
// RUN: cupel opt %s --emit=generic | cupel opt - | diff %t.text -
// RUN: cupel opt %s --emit=bytecode | cupel opt - | diff %t.text -
module {
  func.func @constants() {
    %c = stablehlo.constant dense<[1, -2, 3]> : tensor<3xi8>
    %cst = stablehlo.constant {note = "kept"} dense<1.500000e+00> : tensor<2x2xbf16>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,-2.000000e+00)> : tensor<2xcomplex<f64>>
    %cst_2 = stablehlo.constant() {value = dense<[1, 2]> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01:-3>>
    %c_3 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %c_4 = stablehlo.constant dense<[0, 3]> : tensor<2xui2>
    %cst_5 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf8E4M3FN>
    %cst_6 = stablehlo.constant dense<> : tensor<0x3xf32>
    %0 = stablehlo.iota dim = 1 : tensor<2x3xcomplex<f32>>
    %c_7 = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %1 = stablehlo.dynamic_iota %c_7, dim = 0 : (tensor<2xi64>) -> tensor<?x?xf32>
    return
  }
  func.func @unary(%arg0: tensor<4xi32>, %arg1: tensor<?xf32>, %arg2: tensor<4xcomplex<f32>>, %arg3: tensor<4xi1>, %arg4: tensor<4x!quant.uniform<i8:f32, 5.000000e-01:1>>, %arg5: tensor<?x2xf16, #stablehlo.bounds<8, ?>>) {
    %0 = stablehlo.abs %arg0 : tensor<4xi32>
    %1 = stablehlo.abs %arg2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %2 = stablehlo.cbrt %arg1 : tensor<?xf32>
    %3 = stablehlo.ceil %arg5 : tensor<?x2xf16, #stablehlo.bounds<8, ?>>
    %4 = stablehlo.convert %arg0 : (tensor<4xi32>) -> tensor<4xui8>
    %5 = stablehlo.convert %arg0 : tensor<4xi32>
    %6 = stablehlo.cosine %arg1 : tensor<?xf32>
    %7 = stablehlo.count_leading_zeros %arg0 : tensor<4xi32>
    %8 = stablehlo.exponential %arg1 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<?xf32>
    %9 = stablehlo.exponential_minus_one %arg2 : tensor<4xcomplex<f32>>
    %10 = stablehlo.floor %arg4 : tensor<4x!quant.uniform<i8:f32, 5.000000e-01:1>>
    %11 = stablehlo.imag %arg2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %12 = stablehlo.is_finite %arg1 : (tensor<?xf32>) -> tensor<?xi1>
    %13 = stablehlo.log %arg1 : (tensor<?xf32>) -> tensor<7xf32>
    %14 = stablehlo.log_plus_one %arg1 : tensor<?xf32>
    %15 = stablehlo.logistic %arg1 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<?xf32>
    %16 = stablehlo.negate %arg0 {mhlo.sharding = "{replicated}"} : tensor<4xi32>
    %17 = stablehlo.not %arg3 : tensor<4xi1>
    %18 = stablehlo.popcnt %arg0 : tensor<4xi32>
    %19 = stablehlo.real %arg2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %20 = stablehlo.reduce_precision %arg1, format = e5m2 : tensor<?xf32>
    %21 = stablehlo.round_nearest_afz %arg1 : tensor<?xf32>
    %22 = stablehlo.round_nearest_even %arg1 : tensor<?xf32>
    %23 = stablehlo.rsqrt %arg1 : tensor<?xf32>
    %24 = stablehlo.sign %arg2 : tensor<4xcomplex<f32>>
    %25 = stablehlo.sine %arg1 : tensor<?xf32>
    %26 = stablehlo.sqrt %arg1 : tensor<?xf32>
    %27 = stablehlo.tan %arg1 : tensor<?xf32>
    %28 = stablehlo.tanh %arg4 : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:1>>) -> tensor<4x!quant.uniform<i8:f32, 1.250000e-01>>
    %29 = stablehlo.uniform_dequantize %arg4 : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:1>>) -> tensor<4xf32>
    %30 = stablehlo.uniform_quantize %arg1 : (tensor<?xf32>) -> tensor<?x!quant.uniform<u8:f32, 1.000000e-01:3>>
    return
  }
  func.func @binary(%arg0: tensor<4xi32>, %arg1: tensor<4xf32>, %arg2: tensor<4xi1>, %arg3: tensor<f32>, %arg4: tensor<i1>, %arg5: tensor<?xf32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xi32>
    %1 = stablehlo.and %arg2, %arg2 : tensor<4xi1>
    %2 = stablehlo.atan2 %arg1, %arg1 : tensor<4xf32>
    %3 = stablehlo.clamp %arg3, %arg1, %arg3 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %4 = stablehlo.clamp %arg1, %arg1, %arg1 : tensor<4xf32>
    %5 = stablehlo.compare  LT, %arg1, %arg1,  TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %6 = stablehlo.compare  EQ, %arg0, %arg0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %7 = stablehlo.complex %arg1, %arg1 : tensor<4xcomplex<f32>>
    %8 = stablehlo.divide %arg0, %arg0 : tensor<4xi32>
    %9 = stablehlo.maximum %arg1, %arg5 : (tensor<4xf32>, tensor<?xf32>) -> tensor<?xf32>
    %10 = stablehlo.minimum %arg0, %arg0 : tensor<4xi32>
    %11 = stablehlo.multiply %arg0, %arg0 {a = 1 : i64, b} : tensor<4xi32>
    %12 = stablehlo.or %arg2, %arg2 : tensor<4xi1>
    %13 = stablehlo.power %arg1, %arg1 : tensor<4xf32>
    %14 = stablehlo.remainder %arg0, %arg0 : tensor<4xi32>
    %15 = stablehlo.select %arg2, %arg1, %arg1 : tensor<4xi1>, tensor<4xf32>
    %16 = stablehlo.select %arg4, %arg1, %arg5 : (tensor<i1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
    %17 = stablehlo.shift_left %arg0, %arg0 : tensor<4xi32>
    %18 = stablehlo.shift_right_arithmetic %arg0, %arg0 : tensor<4xi32>
    %19 = stablehlo.shift_right_logical %arg0, %arg0 : tensor<4xi32>
    %20 = stablehlo.subtract %arg1, %arg1 : tensor<4xf32>
    %21 = stablehlo.xor %arg0, %arg0 : tensor<4xi32>
    %22 = "stablehlo.map"(%arg1, %arg1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %23 = stablehlo.multiply %arg6, %arg7 : tensor<f32>
      stablehlo.return %23 : tensor<f32>
    }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
