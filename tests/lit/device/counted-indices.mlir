// Indices along the lines of a sort are counted by its kernel: nobody writes them to memory.
// RUN: cupel opt %s --lower-to-device | FileCheck %s

// CHECK: dev.program @main arena 0
// CHECK-NOT: dev.place
// CHECK: dev.launch(%{{.*}}) to(%{{.*}}, %{{.*}})
// CHECK: stablehlo.iota dim = 0 : tensor<8xi32>
// CHECK: stablehlo.sort
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}
