// Portable artifacts through the tool: written at a version, told apart by content, shown as vhlo.
// RUN: cupel opt %s --emit=portable -o %t.bc
// RUN: cupel opt %t.bc | FileCheck %s
// RUN: cupel opt - < %t.bc | FileCheck %s
// RUN: cupel opt %s --emit=portable --target-version=1.0.0 -o %t.old.bc
// RUN: cupel opt %t.old.bc | FileCheck %s
// RUN: cupel opt %s --emit=vhlo | FileCheck %s --check-prefix=VHLO
// RUN: cupel opt %t.old.bc --emit=vhlo --target-version=1.0.0 | FileCheck %s --check-prefix=OLD
// RUN: not cupel opt %s --emit=portable --target-version=0.8.0 -o %t.x 2>&1 | FileCheck %s --check-prefix=TOO-OLD
// RUN: not cupel opt %s --emit=portable --target-version=new -o %t.x 2>&1 | FileCheck %s --check-prefix=NO-VERSION
// RUN: not cupel opt %s --target-version=1.0.0 2>&1 | FileCheck %s --check-prefix=NO-TARGET

// CHECK: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %0 = stablehlo.exponential %arg0 : tensor<4xf32>
// CHECK-NEXT: return %0 : tensor<4xf32>
// VHLO: "vhlo.exponential_v2"
// OLD: "vhlo.exponential_v1"
// TOO-OLD: cupel opt: error: --target-version: {{.*}}0.8.0{{.*}}0.9.0
// NO-VERSION: cupel opt: error: --target-version: {{.*}}new
// NO-TARGET: cupel opt: error: --target-version goes with --emit=portable or --emit=vhlo
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
