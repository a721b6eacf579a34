// RUN: cupel opt %s --plant-wrong-rewrite=number=2 | FileCheck %s
// RUN: cupel opt %s --plant-wrong-rewrite=number=2 --opt-bisect-limit=1 2>&1 | FileCheck %s --check-prefix=LIMIT

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.add %arg1, %arg0
// CHECK: stablehlo.subtract %0, %arg1
// CHECK: stablehlo.add %arg0, %1

// LIMIT: rewrites: 1 of 3
// LIMIT-NEXT: the last: rewrite 1: pass plant-wrong-rewrite, pattern commute at stablehlo.add ({{.*}}plant-wrong-rewrite.mlir:[[#]]:8)
// LIMIT: stablehlo.add %arg1, %arg0
// LIMIT: stablehlo.add %0, %arg1
// LIMIT: stablehlo.add %1, %arg0
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %a, %b : tensor<3xf32>
  %1 = stablehlo.add %0, %b : tensor<3xf32>
  %2 = stablehlo.add %1, %a : tensor<3xf32>
  return %2 : tensor<3xf32>
}
