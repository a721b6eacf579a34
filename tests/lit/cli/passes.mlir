// Passes by flag, in the order given, and as a pipeline.
// RUN: cupel opt %s --inline --symbol-dce | FileCheck %s
// RUN: cupel opt %s --pass-pipeline='builtin.module(inline,symbol-dce)' | FileCheck %s
// RUN: cupel opt %s --symbol-dce --canonicalize --mlir-print-ir-after-all -o /dev/null 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: cupel opt %s --cse --mlir-timing -o /dev/null 2>&1 | FileCheck %s --check-prefix=TIMING
// RUN: not cupel opt %s --pass-pipeline='builtin.module(no-such-pass)' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK-NOT: @callee
// CHECK: func.func @main(%arg0: tensor<4xf32>)
// CHECK-NEXT: return %arg0
// AFTER: IR Dump After SymbolDCE (symbol-dce)
// AFTER: @callee
// AFTER: IR Dump After Canonicalizer (canonicalize)
// TIMING: Read
// TIMING: CSE
// TIMING: Write
// UNKNOWN: 'no-such-pass' does not refer to a registered pass
func.func private @callee(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @callee(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
