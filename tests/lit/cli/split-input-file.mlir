// The parts of a file are programs of their own: a bad one does not hide the rest, and line numbers are
// those of the file.
// RUN: not cupel opt %s --split-input-file > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERROR --implicit-check-not=error < %t.err
// RUN: cupel opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: @first
// CHECK: // -----
// CHECK-NEXT: // -----
// CHECK: @third
func.func @first() {
  return
}
// -----
// expected-note@+1 {{prior use here}}
func.func @second(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  // ERROR: split-input-file.mlir:[[# @LINE + 2]]:10: error: use of value '%arg0' expects different type
  // expected-error@+1 {{use of value '%arg0' expects different type than prior uses}}
  return %arg0 : tensor<3xf32>
}
// -----
func.func @third() {
  return
}
