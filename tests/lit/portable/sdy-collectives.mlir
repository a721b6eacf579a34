// Shardy's collectives look at the sharding of their operand; between the operations of a portable artifact stand casts.
// RUN: cupel opt %s --emit=portable -o %t.mlirbc && cupel opt %t.mlirbc | FileCheck %s

sdy.mesh @mesh = <["a"=2]>

// CHECK-LABEL: func.func @main
// CHECK: %[[SLICED:.*]] = sdy.all_slice [{"a"}, {}] %arg0 out_sharding=<@mesh, [{"a"}, {}]>
// CHECK-NEXT: sdy.all_to_all [{"a"}: 0->1] %[[SLICED]] out_sharding=<@mesh, [{}, {"a"}]>
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = sdy.all_slice [{"a"}, {}] %x out_sharding=<@mesh, [{"a"}, {}]> : tensor<2x2xf32>
  %1 = sdy.all_to_all [{"a"}: 0->1] %0 out_sharding=<@mesh, [{}, {"a"}]> : tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}
