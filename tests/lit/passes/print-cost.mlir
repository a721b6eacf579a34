// What a run costs, without running it.
// RUN: cupel opt %s --print-cost --split-input-file --verify-diagnostics -o /dev/null

// Two operations and the return; 2 * 4 * 5 * 3 for the product.
// expected-remark @+1 {{3 operations: 120 flops, 20 transcendentals, 348 bytes accessed}}
func.func @main(%a: tensor<4x3xf32>, %b: tensor<3x5xf32>) -> tensor<4x5xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = stablehlo.tanh %0 : tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}

// -----

// expected-remark @+1 {{, loops counted once, calls to the outside}}
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.while(%x = %a) : tensor<f32> cond {
    %less = stablehlo.compare LT, %x, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %next = stablehlo.custom_call @mystery(%x) : (tensor<f32>) -> tensor<f32>
    stablehlo.return %next : tensor<f32>
  }
  return %0 : tensor<f32>
}
