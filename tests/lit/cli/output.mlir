// -o writes a file only if all of it is right, and says why it cannot.
// RUN: rm -rf %t && mkdir %t
// RUN: echo before > %t/out
// RUN: not cupel opt %s -o %t/out 2>/dev/null
// RUN: FileCheck %s --check-prefix=KEPT < %t/out
// RUN: not cupel opt %s --split-input-file -o %t/out 2>/dev/null
// RUN: FileCheck %s --check-prefix=KEPT < %t/out
// RUN: ls %t | count 1
// RUN: not cupel opt %S/emit.mlir -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not cupel opt %S/emit.mlir -o %t 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// RUN: not cupel opt %S/emit.mlir -o %t/no/such/folder 2>&1 | FileCheck %s --check-prefix=NO-FOLDER

// KEPT: before
// FULL: cupel opt: error: /dev/full: cannot write: No space left on device
// DIRECTORY: cupel opt: error: {{.*}}: is a directory, not a file
// NO-FOLDER: cupel opt: error: {{.*}}: cannot create: No such file or directory
func.func @good() {
  return
}
// -----
func.func @bad() {
  return %nothing : i32
}
