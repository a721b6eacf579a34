// RUN: not cupel opt %s 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: cupel opt %s --allow-unregistered-dialect | FileCheck %s

// ERROR: error: operation being parsed with an unregistered dialect
// CHECK: "foreign.op"() : () -> ()
"foreign.op"() : () -> ()
