// Who asks how a value is split is told by the handler of that name; where nobody registered one, the call stays for
// whoever runs the program to refuse.
// RUN: cupel opt %s --report-shardings | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.custom_call @cupel_inspect_sharding
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  stablehlo.custom_call @cupel_inspect_sharding(%0) {has_side_effect = true} : (tensor<4xf32>) -> ()
  return %0 : tensor<4xf32>
}
