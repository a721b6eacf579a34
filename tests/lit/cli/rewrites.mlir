// The rewrites that the compiler may leave: listed, counted and stopped after some.
// RUN: cupel compile %s --emit=device --print-rewrites -o %t 2>&1 | FileCheck %s
// RUN: cupel compile %s --emit=device --opt-bisect-limit 1 -o %t 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: FileCheck %s --check-prefix=LEFT --input-file=%t
// RUN: cupel opt %s --pass-pipeline='builtin.module(compile-to-device)' --opt-bisect-limit=0 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not cupel compile %s --opt-bisect-limit 1 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not cupel compile %s --emit=device --opt-bisect-limit many 2>&1 | FileCheck %s --check-prefix=WORD

// CHECK: rewrite 1: pass form-products, pattern product at stablehlo.dot_general ({{.*}}rewrites.mlir:[[#]]:8)
// CHECK-NEXT: rewrite 2: pass fuse-epilogues, pattern epilogue at tir.product
// CHECK-NEXT: rewrite 3: pass form-maps, pattern map at stablehlo.tanh
// CHECK-NEXT: rewrite 4: pass lower-to-device, pattern reuse-memory at tir.map
// CHECK-NEXT: rewrites: 4 of 4

// ONE: rewrites: 1 of {{[0-9]+}}
// ONE-NEXT: the last: rewrite 1: pass form-products, pattern product at stablehlo.dot_general
// LEFT: tir.product
// LEFT: stablehlo.add
// LEFT: stablehlo.tanh

// NONE: rewrites: 0 of
// NONE: dev.launch
// NONE: stablehlo.dot_general

// ALONE: --opt-bisect-limit goes with --emit=tensor
// WORD: --opt-bisect-limit takes a number from -1 on, not 'many'
func.func @main(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>, %b: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.add %0, %b : tensor<4x8xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.tanh %2 : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}
