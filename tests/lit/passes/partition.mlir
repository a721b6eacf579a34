// A program on whole tensors becomes what each device runs on the pieces it holds; one that cannot be split says why.
// RUN: cupel opt %s --pass-pipeline='builtin.module(assign-devices{partitions=2},partition)' --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not cupel opt %s --pass-pipeline='builtin.module(assign-devices{partitions=2},partition{strict=true})' --split-input-file 2>&1 | FileCheck %s --check-prefix=STRICT
// STRICT: error: the program is not split over its devices: argument 0: its pieces are uneven
// STRICT: error: the program is not split over its devices: it speaks of several meshes
// STRICT: error: the program is not split over its devices: stablehlo.custom_call at {{.*}} cannot be split

// CHECK-LABEL: module @product
// CHECK-SAME: view = "own"
// CHECK: func.func @main(%arg0: tensor<4x2xf32> {cupel.whole_type = tensor<4x4xf32>,
// CHECK: %[[PIECE:.*]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK: "stablehlo.all_reduce"(%[[PIECE]])
module @product {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x3xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}

// -----

// Nothing is split: one computes for all, and there is nothing to say.
// CHECK-LABEL: module @whole
// CHECK-SAME: view = "global"
// CHECK: stablehlo.negate %arg0 : tensor<4xf32>
module @whole {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %a : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// CHECK-LABEL: module @uneven
// CHECK-SAME: cupel.not_partitioned = "argument 0: its pieces are uneven"
// expected-warning @+1 {{the program is not split over its devices: argument 0: its pieces are uneven}}
module @uneven {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<3xf32> {
    %0 = stablehlo.negate %a : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}

// -----

// expected-warning @+1 {{it speaks of several meshes}}
module @meshes {
  sdy.mesh @one = <["x"=2]>
  sdy.mesh @other = <["y"=2]>
  func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@one, [{"x"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@other, [{"y"}]>}) {
    return %a : tensor<4xf32>
  }
}

// -----

// Nobody knows what a call to the outside does to pieces.
// expected-warning @+1 {{cannot be split}}
module @outside {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @mystery(%a) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
