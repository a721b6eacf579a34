// Composites become calls of their decompositions, except those that are kept.
// RUN: cupel opt %s --inline-composites --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not cupel opt %s --pass-pipeline='builtin.module(inline-composites{keep=cupel.rms_norm,my.other})' --split-input-file -o - 2>/dev/null | FileCheck %s --check-prefix=KEEP

// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @add_n.impl(%arg0) : (tensor<i64>) -> tensor<i64>
// CHECK: %[[B:.*]]:2 = call @norm.impl(%[[A]], %arg0) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
// CHECK: return %[[B]]#1
// KEEP-LABEL: func.func @main
// KEEP: call @add_n.impl
// KEEP: stablehlo.composite "cupel.rms_norm"
func.func @main(%arg0: tensor<i64>) -> tensor<i64> {
  %0 = stablehlo.composite "stablehlo.add_n" %arg0 {composite_attributes = {n = 2 : i64}, decomposition = @add_n.impl} : (tensor<i64>) -> tensor<i64>
  %1:2 = stablehlo.composite "cupel.rms_norm" %0, %arg0 {decomposition = @norm.impl, version = 1 : i32} : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  return %1#1 : tensor<i64>
}
func.func private @add_n.impl(%arg0: tensor<i64>) -> tensor<i64> {
  return %arg0 : tensor<i64>
}
// A decomposition may use composites itself.
// CHECK-LABEL: func.func private @norm.impl
// CHECK: call @add_n.impl
func.func private @norm.impl(%arg0: tensor<i64>, %arg1: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %0 = stablehlo.composite "stablehlo.add_n" %arg0 {decomposition = @add_n.impl} : (tensor<i64>) -> tensor<i64>
  return %0, %arg1 : tensor<i64>, tensor<i64>
}

// -----

func.func @regions(%arg0: tensor<i64>) -> tensor<i64> {
  // expected-error @+1 {{composite "my.op" has regions, which a call of @impl cannot pass on; name it in 'keep' to leave it alone}}
  %0 = "stablehlo.composite"(%arg0) <{name = "my.op", decomposition = @impl}> ({
    stablehlo.return %arg0 : tensor<i64>
  }) : (tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}
func.func private @impl(%arg0: tensor<i64>) -> tensor<i64> {
  return %arg0 : tensor<i64>
}
