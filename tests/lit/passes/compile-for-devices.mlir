// What every program goes through on its way to a backend, by its name and with its options.
// RUN: cupel opt %s --pass-pipeline='builtin.module(compile-for-devices{partitions=2 results=1 types=f32,i32})' | FileCheck %s
// RUN: cupel opt %s --compile-for-devices="partitions=2 split=false" | FileCheck %s --check-prefix=WHOLE
// RUN: cupel opt %s --compile-for-devices | FileCheck %s --check-prefix=ONE

// Split over two devices, without chlo, computed in f32, and the result lies where its pieces are made.
// CHECK: view = "own"
// CHECK: func.func @main(%arg0: tensor<2xf64> {cupel.whole_type = tensor<4xf64>,
// CHECK-SAME: -> (tensor<2xf64> {cupel.whole_type = tensor<4xf64>, sdy.sharding =
// CHECK: stablehlo.convert %arg0 : (tensor<2xf64>) -> tensor<2xf32>
// CHECK-NOT: chlo
// WHOLE: view = "global"
// WHOLE: stablehlo.multiply {{.*}} : tensor<4xf64>
// ONE: partitions = 1 : i64
// ONE: stablehlo.multiply {{.*}} : tensor<4xf64>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf64> {
  %0 = chlo.square %a : tensor<4xf64> -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
