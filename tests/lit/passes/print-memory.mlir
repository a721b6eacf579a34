// The memory of a run at its worst moment, without running it.
// RUN: cupel opt %s --print-memory --split-input-file --verify-diagnostics -o /dev/null
// RUN: cupel opt %s --pass-pipeline='builtin.module(assign-devices{partitions=2},propagate-shardings{results=1},print-memory)' --split-input-file -o /dev/null 2>&1 | FileCheck %s

// The first product is needed beside the second, and what is done with that is done in its place.
// expected-remark @+1 {{arguments 64 bytes, results 64 bytes, beside them at most 64 bytes}}
func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.negate %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// One device holds all of it. Of two each holds half, and the whole that one computes for both is put together from the
// halves; half of that memory is counted to each.
// CHECK: arguments 64 bytes, results 64 bytes
// CHECK: arguments 32 bytes, results 32 bytes, beside them at most 32 bytes
sdy.mesh @mesh = <["x"=2]>
// expected-remark @+1 {{arguments 64 bytes, results 64 bytes, beside them at most 0 bytes}}
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
  %0 = stablehlo.negate %a : tensor<16xf32>
  return %0 : tensor<16xf32>
}
