// What is touched often for the time that it is needed lies in SRAM, which is the beginning of the arena; what
// finds no room there lies behind, in DRAM.
// RUN: cupel opt %s --form-products --lower-to-device --place-in-sram=bytes=1048576 | FileCheck %s --check-prefix=ALL
// RUN: cupel opt %s --form-products --lower-to-device --place-in-sram=bytes=320 | FileCheck %s --check-prefix=SOME
// RUN: cupel opt %s --form-products --lower-to-device --place-in-sram=bytes=0 | FileCheck %s --check-prefix=NONE

// The first piece (256 bytes) makes room for the third: it is needed no more then.
// ALL: dev.program @main arena 1280 attributes {sram = 1280 : i64}
// The large one, which is needed all the time, is spilled.
// SOME: dev.program @main arena 1280 attributes {sram = 256 : i64}
// SOME: dev.place 256 : !dev.buffer<tensor<16x16xf32>>
// SOME: dev.place 0 : !dev.buffer<tensor<8x8xf32>>
// NONE: dev.program @main arena 1280 attributes {sram = 0 : i64}
func.func @main(%a: tensor<16x8xf32>, %b: tensor<8x16xf32>, %c: tensor<8x8xf32>) -> (tensor<16x16xf32>, tensor<8x8xf32>) {
  %long = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %0 = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %c, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.dot_general %long, %long, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %2, %1 : tensor<16x16xf32>, tensor<8x8xf32>
}
