// Every scatter is marked, wherever it stands; nothing else is.
// RUN: cupel opt %s --skip-overhanging-windows | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.scatter"
// CHECK: }) {cupel.skip_whole_windows} : (tensor<4xf32>
// CHECK: stablehlo.add {{.*}} : tensor<4xf32>
func.func @main(%a: tensor<4xf32>, %i: tensor<1xi32>, %u: tensor<2xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
