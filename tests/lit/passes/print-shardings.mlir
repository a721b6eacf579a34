// The sharding of every value for which one follows from what the program states.
// RUN: cupel opt %s --print-shardings --verify-diagnostics -o /dev/null

sdy.mesh @mesh = <["x"=2]>
// expected-remark @+1 {{argument 0: #sdy.sharding<mesh<["x"=2]>, [{"x"}, {}]>}}
func.func @main(%a: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<3xf32>) -> tensor<3x4xf32> {
  // expected-remark @+1 {{result 0: #sdy.sharding<mesh<["x"=2]>, [{"x"}, {}]>}}
  %0 = stablehlo.negate %a : tensor<4x3xf32>
  // expected-remark @+1 {{result 0: #sdy.sharding<mesh<["x"=2]>, [{}, {"x"}]>}}
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
