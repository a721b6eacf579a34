// Arguments from the command line, results printed and saved, values traced.
// RUN: cupel eval %s --args 'dense<[1.0, 2.0]>' 'dense<3.0> : tensor<f32>' --print | FileCheck %s
// RUN: cupel eval %s --args random --seed 3 --save %t && ls %t | FileCheck %s --check-prefix=FILES
// RUN: cupel eval %s --args %t/result0.npy zeros --print | FileCheck %s --check-prefix=ZEROS
// RUN: cupel eval %s --args zeros --trace stablehlo.multiply | FileCheck %s --check-prefix=TRACE
// RUN: not cupel eval %s 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not cupel eval %s --args zeros --max-steps 1 2>&1 | FileCheck %s --check-prefix=STEPS

// CHECK: tensor<2xf32> {
// CHECK-NEXT: [3.000000e+00, 6.000000e+00]
// CHECK-NEXT: }
// CHECK-NEXT: 1 passed, 0 failed
// FILES: result0.npy
// ZEROS: [{{-?}}0.000000e+00, {{-?}}0.000000e+00]
// TRACE: #1 {{.*}}arguments.mlir:[[#@LINE+6]]:8 stablehlo.multiply = tensor<2xf32>
// MISSING: arguments.mlir: @main takes 2 arguments; --args gives 0
// STEPS: more than 1 operations were executed

func.func @main(%a: tensor<2xf32>, %s: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.multiply %a, %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}
