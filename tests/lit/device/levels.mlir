// Level 0: an operation is a launch. Level 1: what is known is computed once, and operations are fused. Level 2: what
// launches make lies in SRAM where there is some.
// RUN: cupel opt %s --compile-to-device="level=0 sram=1048576" | FileCheck %s --check-prefix=ZERO
// RUN: cupel opt %s --compile-to-device="level=1 sram=1048576" | FileCheck %s --check-prefix=ONE
// RUN: cupel opt %s --compile-to-device="level=2 sram=1048576" | FileCheck %s --check-prefix=TWO

// ZERO-NOT: sram
// ZERO: dev.program @main
// ZERO-COUNT-7: dev.launch
// ZERO-NOT: dev.launch
// ONE: dev.program @main
// ONE-NOT: sram
// ONE-COUNT-2: dev.launch
// ONE-NOT: dev.launch
// TWO: dev.program @main {{.*}}sram = 64
// TWO-COUNT-2: dev.launch
// TWO-NOT: dev.launch
func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %two = stablehlo.add %one, %one : tensor<f32>
  %scale = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %0 = stablehlo.multiply %a, %scale : tensor<4x4xf32>
  %1 = stablehlo.tanh %0 : tensor<4x4xf32>
  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.add %2, %b : tensor<4x4xf32>
  %4 = stablehlo.negate %3 : tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}
