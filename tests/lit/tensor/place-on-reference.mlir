// An operation that is marked stands aside: no pass fuses it, and it has one launch, on the reference.
// RUN: cupel opt %s --place-on-reference | FileCheck %s --check-prefix=ASIDE
// RUN: cupel opt %s --compile-to-tensor | FileCheck %s --check-prefix=TENSOR
// RUN: cupel opt %s --compile-to-tensor --expand-tensor-ir | FileCheck %s --check-prefix=EXPANDED
// RUN: cupel compile %s --report -o %t 2>&1 | FileCheck %s --check-prefix=REPORT

// ASIDE-LABEL: func.func @main
// ASIDE: %[[P:.*]] = stablehlo.multiply
// ASIDE: %[[Q:.*]] = tir.on_reference(%[[P]]) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// ASIDE-NEXT: ^bb0(%[[X:.*]]: tensor<4x8xf32>):
// ASIDE-NEXT: %[[T:.*]] = stablehlo.tanh %[[X]] : tensor<4x8xf32>
// ASIDE-NEXT: tir.yield %[[T]]
// ASIDE: %[[START:.*]] = stablehlo.constant
// ASIDE: tir.on_reference(%[[Q]], %[[START]])
// ASIDE: stablehlo.reduce
// ASIDE: stablehlo.exponential
// ASIDE-NOT: cupel.placement

// TENSOR: tir.map
// TENSOR-NOT: tanh
// TENSOR: tir.on_reference
// TENSOR: stablehlo.tanh
// TENSOR: tir.on_reference
// TENSOR: stablehlo.reduce
// TENSOR: tir.map

// EXPANDED-NOT: tir.
// EXPANDED: stablehlo.tanh
// EXPANDED: stablehlo.reduce
// EXPANDED: stablehlo.exponential

// REPORT: fallbacks: {{.*}}stablehlo.reduce{{.*}}stablehlo.tanh
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<4x8xf32>
  %1 = stablehlo.tanh %0 {cupel.placement = "reference"} : tensor<4x8xf32>
  %start = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %start) applies stablehlo.add across dimensions = [1] {cupel.placement = "reference"} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.exponential %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}
