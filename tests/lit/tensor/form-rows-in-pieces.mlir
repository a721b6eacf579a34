// A group norm's factors, one for each channel: rows are cut into channels, and nothing is written out as large as they are. Pieces that are too
// short are no pieces.
// RUN: cupel opt %s --form-rows | FileCheck %s
// RUN: cupel opt %s --form-rows --expand-tensor-ir | FileCheck %s --check-prefix=EXPANDED

// CHECK-LABEL: func.func @groups
// CHECK-NOT: stablehlo.broadcast_in_dim %arg1
// CHECK: tir.row(%arg0, %arg1) over [4] rows of 192 in pieces of 64 reading [#tir.view<0, [192, 64, 1]>, #tir.view<0, [3, 1, 0]>]
// CHECK: ^bb0(%{{.*}}: tensor<192xf32>, %{{.*}}: tensor<192xf32>):
// EXPANDED-LABEL: func.func @groups
// EXPANDED: stablehlo.gather
// EXPANDED: stablehlo.reshape %{{.*}} : (tensor<4x3x64xf32>) -> tensor<4x192xf32>
func.func @groups(%x: tensor<12x64xf32>, %w: tensor<12xf32>) -> tensor<12x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reshape %x : (tensor<12x64xf32>) -> tensor<4x192xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x192xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x192xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<4x192xf32>
  %4 = stablehlo.reshape %3 : (tensor<4x192xf32>) -> tensor<12x64xf32>
  %5 = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<12xf32>) -> tensor<12x64xf32>
  %6 = stablehlo.multiply %4, %5 : tensor<12x64xf32>
  return %6 : tensor<12x64xf32>
}

// CHECK-LABEL: func.func @few
// CHECK: stablehlo.broadcast_in_dim %arg1
// CHECK: tir.row(%arg0, %{{.*}}) over [4] rows of 48 reading
func.func @few(%x: tensor<12x16xf32>, %w: tensor<12xf32>) -> tensor<12x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reshape %x : (tensor<12x16xf32>) -> tensor<4x48xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x48xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x48xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<4x48xf32>
  %4 = stablehlo.reshape %3 : (tensor<4x48xf32>) -> tensor<12x16xf32>
  %5 = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<12xf32>) -> tensor<12x16xf32>
  %6 = stablehlo.multiply %4, %5 : tensor<12x16xf32>
  return %6 : tensor<12x16xf32>
}
