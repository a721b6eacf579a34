// Sizes 7 and 3 split over axes of 4 and 2 devices: shares need not be equal.
// The text comes back byte for byte, also through generic form and bytecode.
// RUN: sed -e '/^\/\//d' -e '/^$/d' %s > %t.expected
// RUN: cupel opt %s | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=generic | cupel opt - | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=bytecode | cupel opt - | sed '/^$/d' | diff %t.expected -

module @jit_g attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<7x3xf32>) -> (tensor<7x3xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<7x3xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<7x3xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"y"}, {"x"}]> : tensor<7x3xf32>
    return %2 : tensor<7x3xf32>
  }
}
