// The module says how many devices it is for and what each of them runs.
// RUN: cupel opt %s --assign-devices --split-input-file | FileCheck %s --check-prefix=ONE
// RUN: cupel opt %s --assign-devices="replicas=2 partitions=4" --split-input-file | FileCheck %s --check-prefix=MANY
// RUN: cupel opt %s --assign-devices="partitions=2 own=true" --split-input-file | FileCheck %s --check-prefix=OWN
// RUN: not cupel opt %s --assign-devices="partitions=0" --split-input-file 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: a program is for one device at least, not for 1 x 0

// ONE: module @plain attributes {cupel.devices = {partitions = 1 : i64, replicas = 1 : i64, view = "global"}}
// MANY: module @plain attributes {cupel.devices = {partitions = 4 : i64, replicas = 2 : i64, view = "global"}}
// It speaks of no pieces, and is not said to be on whole tensors.
// OWN: module @plain attributes {cupel.devices = {partitions = 2 : i64, replicas = 1 : i64, view = "own"}}
module @plain {
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}

// -----

// What lies in pieces is computed on whole tensors.
// OWN: module @split attributes {{.*}}view = "global"
module @split {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}

// -----

// The program takes pieces itself.
// MANY: module @spmd attributes {{.*}}view = "per_device"
module @spmd {
  func.func @main(%a: tensor<4xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) : (tensor<4xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
