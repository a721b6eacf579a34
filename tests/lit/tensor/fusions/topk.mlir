// Of a sort whose first elements are all that is needed only these are sorted.
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor)' | FileCheck %s --strict-whitespace
// RUN: cupel opt %s --split-input-file --pass-pipeline='builtin.module(compile-to-tensor{without=topk})' | FileCheck %s --check-prefix=OFF

// The first five of each line.
// CHECK: tir.fusions = {topk = 1 : i64}
// CHECK: stablehlo.sort
// CHECK: cupel.first = 5 : i64
// OFF: tir.fusions = {topk = -1 : i64}
// OFF-NOT: cupel.first
// OFF: return
func.func @found(%x: tensor<4x64xf32>) -> tensor<4x5xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = stablehlo.slice %0 [0:4, 0:5] : (tensor<4x64xf32>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}

// -----

// All of them.
// CHECK-NOT: topk =
// CHECK: func.func @near
func.func @near(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = stablehlo.slice %0 [0:4, 0:64] : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return %1 : tensor<4x64xf32>
}
