// A single device is an empty mesh.
// The text comes back byte for byte, also through generic form and bytecode.
// RUN: sed -e '/^\/\//d' -e '/^$/d' %s > %t.expected
// RUN: cupel opt %s | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=generic | cupel opt - | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=bytecode | cupel opt - | sed '/^$/d' | diff %t.expected -

module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @empty_mesh = <[]> {stablehlo.mesh = {axes = []}}
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>}) -> (tensor<8xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
