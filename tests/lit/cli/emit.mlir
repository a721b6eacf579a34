// What `cupel opt --emit` writes, and that its input is told apart by content.
// RUN: cupel opt %s | FileCheck %s
// RUN: cupel opt %s --emit=generic | FileCheck %s --check-prefix=GENERIC
// RUN: cupel opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: cupel opt %s --emit=bytecode -o %t.bc
// RUN: cupel opt %t.bc | FileCheck %s
// RUN: cupel opt - < %t.bc | FileCheck %s
// RUN: cupel opt - < %s | FileCheck %s
// RUN: cupel opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATIONS
// RUN: cupel opt %t.bc --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATIONS

// Printing what was printed changes nothing.
// RUN: cupel opt %s -o %t.once
// RUN: cupel opt %t.once -o %t.twice
// RUN: cmp %t.once %t.twice

// CHECK: module {
// CHECK-NEXT: func.func @identity(%arg0: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT: return %arg0 : tensor<2xf32>
// GENERIC: "func.func"()
// GENERIC: "func.return"(%{{.*}}) : (tensor<2xf32>) -> ()
// LOCATIONS: return %arg0 : tensor<2xf32> loc(#[[LOC:.*]])
// LOCATIONS: #[[LOC]] = loc("{{.*}}emit.mlir":[[# @LINE + 2]]:3)
func.func @identity(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  return %arg0 : tensor<2xf32>
}
