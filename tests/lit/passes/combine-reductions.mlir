// Sums over devices that do not need each other become one; those of other groups or that need a result stay.
// RUN: cupel opt %s --combine-reductions | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[SUMS:.*]]:2 = "stablehlo.all_reduce"(%arg0, %arg1)
// CHECK: %[[AFTER:.*]] = "stablehlo.all_reduce"(%[[SUMS]]#0)
// CHECK: return %[[SUMS]]#1, %[[AFTER]]
func.func @main(%a: tensor<2xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<2xf32>) {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "stablehlo.all_reduce"(%b) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return %1, %2 : tensor<3xf32>, tensor<2xf32>
}
