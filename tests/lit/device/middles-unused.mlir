// Pieces do not lie around middles (middles.mlir) where that would leave much of the memory unused: each would have a place of its own.
// RUN: cupel opt %s --lower-to-device | FileCheck %s

// CHECK-LABEL: dev.program @main arena 294912
// CHECK: dev.place 0 : !dev.buffer<tensor<512x128xf32>>
// CHECK: dev.place 262144 : !dev.buffer<tensor<64x128xf32>>
// CHECK: dev.place 0 : !dev.buffer<tensor<64x128xf32>>
// CHECK: dev.place 32768 : !dev.buffer<tensor<64x128xf32>>
func.func @main(%a: tensor<512x256xf32>, %b: tensor<64x512xf32>, %c: tensor<64x256xf32>, %d: tensor<256x128xf32>) -> tensor<512x128xf32> {
  %0 = stablehlo.dot %a, %d : (tensor<512x256xf32>, tensor<256x128xf32>) -> tensor<512x128xf32>
  %1 = stablehlo.dot %b, %0 : (tensor<64x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  %2 = stablehlo.dot %c, %d : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %3 = stablehlo.dot %c, %d : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %4 = stablehlo.dot %c, %d : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %5 = stablehlo.dot %c, %d : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %6 = stablehlo.dot %c, %d : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %7 = stablehlo.dot %c, %d : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %8 = stablehlo.dot %c, %d : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %9 = stablehlo.concatenate %1, %2, %3, %4, %5, %6, %7, %8, dim = 0 : (tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<512x128xf32>
  return %9 : tensor<512x128xf32>
}
