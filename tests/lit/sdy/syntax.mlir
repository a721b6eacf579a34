// Spellings that are read but printed in one way only, and what newer versions of Shardy write.
// RUN: cupel opt %s | FileCheck %s
// RUN: cupel opt %s --emit=bytecode | cupel opt - | FileCheck %s

sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>

// CHECK-LABEL: func @sharding_tails
// Either order is read; `replicated` is printed first, and a sum is not named.
// CHECK-SAME: %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={"a"}, unreduced={"b"}>}
// CHECK-SAME: %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"b", "c"}>}
// CHECK-SAME: %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}], unreduced=max{"b"}>}
// CHECK-SAME: %arg3: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}], unreduced=min{"b"}>}
func.func @sharding_tails(
    %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"b"}, replicated={"a"}>},
    %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=sum{"b", "c"}>},
    %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}], unreduced=max{"b"}>},
    %arg3: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}], unreduced=min{"b"}>}) {
  return
}

// CHECK-LABEL: func @reduction_kinds
func.func @reduction_kinds(%arg0: tensor<8xf32>) {
  // CHECK: sdy.all_reduce {"a"} %arg0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  %0 = sdy.all_reduce {"a"} %arg0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  // CHECK: sdy.all_reduce max {"a"} %arg0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  %1 = sdy.all_reduce max {"a"} %arg0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
  // CHECK: sdy.reduce_scatter min [{"b"}] %arg0 out_sharding=<@mesh, [{"b"}]> : tensor<8xf32>
  %2 = sdy.reduce_scatter min [{"b"}] %arg0 out_sharding=<@mesh, [{"b"}]> : tensor<8xf32>
  return
}

// CHECK-LABEL: func @quantized_constant
func.func @quantized_constant() {
  // CHECK: sdy.constant() <{value = dense<1> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00>>
  %0 = sdy.constant() <{value = dense<1> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 2.0>>
  return
}
