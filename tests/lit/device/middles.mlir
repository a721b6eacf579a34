// Large pieces of memory lie around common middles, whatever their sizes are: a thread that has the first half of each writes over what it wrote
// before.
// RUN: cupel opt %s --lower-to-device | FileCheck %s

// CHECK-LABEL: dev.program @main arena 393216
// CHECK: dev.place 0 : !dev.buffer<tensor<256x256xf32>>
// CHECK: dev.place 262144 : !dev.buffer<tensor<128x256xf32>>
// CHECK: dev.place 65536 : !dev.buffer<tensor<128x256xf32>>
// CHECK: dev.place 262144 : !dev.buffer<tensor<128x256xf32>>
func.func @main(%a: tensor<256x256xf32>, %c: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %0 = stablehlo.dot %a, %a : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.dot %c, %0 : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %2 = stablehlo.dot %1, %a : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %3 = stablehlo.dot %2, %a : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  %4 = stablehlo.dot %3, %a : (tensor<128x256xf32>, tensor<256x256xf32>) -> tensor<128x256xf32>
  return %4 : tensor<128x256xf32>
}
