// RUN: cupel opt %s | FileCheck %s
// RUN: cupel opt %s | cupel opt - | FileCheck %s
// RUN: cupel opt --emit=portable %s | cupel opt - | FileCheck %s
// RUN: cupel opt --emit=bytecode %s | cupel opt - | FileCheck %s
// RUN: cupel opt --emit=generic %s | FileCheck %s --check-prefix=GENERIC
// RUN: cupel opt --emit=vhlo %s | FileCheck %s --check-prefix=VHLO
// Types that MLIR 19 has not are read and written by their plain names, constants of them as numbers.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg0: tensor<2x3xf8E3M4>, %arg1: tensor<f8E8M0FNU>) -> tensor<2x3xf6E2M3FN>
func.func @main(%arg0: tensor<2x3xf8E3M4>, %arg1: tensor<f8E8M0FNU>) -> tensor<2x3xf6E2M3FN> {
  // CHECK: stablehlo.constant dense<{{\[\[}}1.000000e+00, -2.500000e+00, 0x78], [1.562500e-02, 1.550000e+01, -0.000000e+00]]> : tensor<2x3xf8E3M4>
  // GENERIC: "stablehlo.constant"() <{value = dense<{{\[\[}}1.000000e+00, -2.500000e+00, 0x78], [1.562500e-02, 1.550000e+01, -0.000000e+00]]> : tensor<2x3xf8E3M4>}> : () -> tensor<2x3xf8E3M4>
  // VHLO: value = #vhlo.tensor_v1<"0x30C478016F80" : !vhlo.tensor_v1<2x3x!vhlo.f8E3M4_v1>>
  %0 = stablehlo.constant dense<[[1.0, -2.5, 0x78],
                                 [0.015625, 15.5, -0.0]]> : tensor<2x3xf8E3M4>
  // CHECK: stablehlo.constant dense<3.000000e+00> : tensor<4xf4E2M1FN>
  %1 = stablehlo.constant dense<3.1> : tensor<4xf4E2M1FN>
  // CHECK: stablehlo.constant dense<> : tensor<0xf6E3M2FN>
  %2 = stablehlo.constant dense<> : tensor<0xf6E3M2FN>
  // CHECK: stablehlo.add {{.*}} : tensor<2x3xf8E3M4>
  %3 = stablehlo.add %arg0, %0 : tensor<2x3xf8E3M4>
  // CHECK: stablehlo.convert {{.*}} : (tensor<2x3xf8E3M4>) -> tensor<2x3xf6E2M3FN>
  // GENERIC: (tensor<2x3xf8E3M4>) -> tensor<2x3xf6E2M3FN>
  %4 = stablehlo.convert %3 : (tensor<2x3xf8E3M4>) -> tensor<2x3xf6E2M3FN>
  return %4 : tensor<2x3xf6E2M3FN>
}
