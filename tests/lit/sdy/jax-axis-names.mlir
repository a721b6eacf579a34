// Axis names with quotes, backslashes and letters beyond ASCII.
// The text comes back byte for byte, also through generic form and bytecode.
// RUN: sed -e '/^\/\//d' -e '/^$/d' %s > %t.expected
// RUN: cupel opt %s | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=generic | cupel opt - | sed '/^$/d' | diff %t.expected -
// RUN: cupel opt %s --emit=bytecode | cupel opt - | sed '/^$/d' | diff %t.expected -

module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a \22b\22\\"=2, "\C3\BC"=4]> {stablehlo.mesh = {axes = [{name = "a \22b\22\\", size = 2 : i64}, {name = "\C3\BC", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a \22b\22\\"}, {"\C3\BC"}]>}) -> (tensor<8x16xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
}
