// Results get the shardings that follow from those the program states, where they may and where pieces are even.
// RUN: cupel opt %s --pass-pipeline='builtin.module(assign-devices{partitions=2},propagate-shardings{results=1})' --split-input-file | FileCheck %s
// RUN: cupel opt %s --pass-pipeline='builtin.module(assign-devices{partitions=2},propagate-shardings{results=0,1})' --split-input-file | FileCheck %s --check-prefix=SECOND
// RUN: cupel opt %s --propagate-shardings="results=1" --split-input-file | FileCheck %s --check-prefix=ALONE

// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<4x3xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}, {}]>}, tensor<3x4xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{}, {"x"}]>})
// SECOND-LABEL: func.func @main(
// SECOND-SAME: -> (tensor<4x3xf32>, tensor<3x4xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{}, {"x"}]>})
// One device has no pieces.
// ALONE-LABEL: func.func @main(
// ALONE-SAME: -> (tensor<4x3xf32>, tensor<3x4xf32>)
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x3xf32>, tensor<3x4xf32>) {
  %0 = stablehlo.negate %a : tensor<4x3xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<3x4xf32>
}

// -----

// What the program states stays; three rows cannot be cut in two.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<3xf32>)
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<3xf32>) {
  %0 = stablehlo.slice %a [0:3] : (tensor<4xf32>) -> tensor<3xf32>
  return %a, %0 : tensor<4xf32>, tensor<3xf32>
}
