// A program that is one manual computation becomes what each device runs, if devices hold values just as it wants them.
// RUN: cupel opt %s --pass-pipeline='builtin.module(assign-devices{partitions=2},enter-manual-computation)' --split-input-file | FileCheck %s

// CHECK: cupel.devices = {partitions = 2 : i64, replicas = 1 : i64, view = "own"}
// CHECK: func.func @main(%arg0: tensor<2xf32> {cupel.whole_type = tensor<4xf32>, sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<2xf32> {cupel.whole_type = tensor<4xf32>, sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
// CHECK-NEXT: %[[A:.*]] = stablehlo.negate %arg0 : tensor<2xf32>
// CHECK-NEXT: return %[[A]] : tensor<2xf32>
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
      %1 = stablehlo.negate %b : tensor<2xf32>
      sdy.return %1 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Devices hold the argument whole.
// CHECK: view = "global"
// CHECK: func.func @main(%arg0: tensor<4xf32>)
// CHECK: sdy.manual_computation
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
      sdy.return %b : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
