// The stages of the cpu backend, and what it says of a program.
// RUN: cupel compile %s --emit=tensor | FileCheck %s --check-prefix=TENSOR
// RUN: cupel compile %s --emit=device --report -o %t 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: FileCheck %s --check-prefix=DEVICE --input-file=%t
// RUN: cupel opt %t --expand-device-ir --expand-tensor-ir | FileCheck %s --check-prefix=EXPANDED

// TENSOR: tir.product(%arg0, %arg1) with(%arg2)
// TENSOR: "stablehlo.sort"

// DEVICE: dev.program @main arena
// DEVICE: dev.launch

// REPORT: launches:  2
// REPORT-NEXT: kernels:   1 product, 1 reference
// REPORT-NEXT: fallbacks: 1 stablehlo.sort
// REPORT-NEXT: fused:     operations inside: 1 product
// REPORT-NEXT: arena:     128 bytes
// REPORT-NEXT: constants: 0 bytes

// EXPANDED: func.func @main
// EXPANDED: stablehlo.dot_general
func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x8xf32>
  %3 = "stablehlo.sort"(%2) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %a = stablehlo.abs %p : tensor<f32>
    %d = stablehlo.abs %q : tensor<f32>
    %c = stablehlo.compare LT, %a, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}
