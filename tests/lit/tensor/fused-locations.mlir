// What is fused says where all of it comes from: the operation by all places, its body each by its own.
// RUN: cupel opt %s --form-maps --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: cupel opt %s --form-products --fuse-epilogues --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=PRODUCT
// RUN: cupel opt %s --form-rows --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=ROW

// CHECK-LABEL: func.func @map
// CHECK: tir.map
// CHECK: stablehlo.exponential {{.*}} loc("model.py":10:1)
// CHECK: stablehlo.tanh {{.*}} loc("model.py":11:2)
// CHECK: } loc(fused["model.py":11:2, "model.py":10:1])
func.func @map(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.exponential %x : tensor<64xf32> loc("model.py":10:1)
  %1 = stablehlo.tanh %0 : tensor<64xf32> loc("model.py":11:2)
  return %1 : tensor<64xf32>
}

// PRODUCT-LABEL: func.func @product
// PRODUCT: tir.product
// PRODUCT: stablehlo.tanh {{.*}} loc("model.py":21:2)
// PRODUCT: } loc(fused["model.py":20:1, "model.py":21:2])
func.func @product(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> loc("model.py":20:1)
  %1 = stablehlo.tanh %0 : tensor<4x16xf32> loc("model.py":21:2)
  return %1 : tensor<4x16xf32>
}

// ROW-LABEL: func.func @row
// ROW: tir.row
// ROW: stablehlo.exponential {{.*}} loc("model.py":30:1)
// ROW: loc(fused[{{.*}}"model.py":31:2{{.*}}])
func.func @row(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<4x32xf32> loc("model.py":30:1)
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x32xf32>, tensor<f32>) -> tensor<4xf32> loc("model.py":31:2)
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xf32>) -> tensor<4x32xf32> loc("model.py":32:3)
  %3 = stablehlo.divide %0, %2 : tensor<4x32xf32> loc("model.py":33:4)
  return %3 : tensor<4x32xf32>
}
