// --verify-diagnostics fails where an expected diagnostic does not come.
// RUN: not cupel opt %s --verify-diagnostics 2>&1 | FileCheck %s

// CHECK: error: expected error "nothing is wrong here" was not produced
// expected-error@+1 {{nothing is wrong here}}
func.func @f() {
  return
}
