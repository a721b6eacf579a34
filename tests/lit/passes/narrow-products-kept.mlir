// With `kept` what is made for products and rounded is read so by all; results of the program, arguments and constants stay.
// RUN: cupel opt %s --narrow-products=kept=true | FileCheck %s
// RUN: cupel opt %s --narrow-products=kept=true | cupel opt --narrow-products=kept=true - | FileCheck %s

// CHECK-LABEL: func.func @residual
func.func @residual(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: %[[H:.*]] = stablehlo.tanh %arg0 : tensor<8x8xf32>
  // CHECK: %[[N:.*]] = stablehlo.convert %[[H]] : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  // CHECK: %[[R:.*]] = stablehlo.convert %[[N]] : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %h = stablehlo.tanh %x : tensor<8x8xf32>
  // CHECK: %[[P:.*]] = stablehlo.dot_general %[[N]],
  %p = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: %[[S:.*]] = stablehlo.add %[[P]], %[[R]]
  %s = stablehlo.add %p, %h : tensor<8x8xf32>
  // A weight is read as it is where no product reads it.
  // CHECK: stablehlo.add %[[S]], %arg1
  %t = stablehlo.add %s, %w : tensor<8x8xf32>
  // CHECK: return %{{.*}}, %[[H]]
  return %t, %h : tensor<8x8xf32>, tensor<8x8xf32>
}

// What moves it is done to rounded numbers for others as well; and what no product reads is not rounded.
// CHECK-LABEL: func.func @moved
func.func @moved(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: %[[H:.*]] = stablehlo.tanh %arg0
  // CHECK: %[[R:.*]] = stablehlo.convert {{.*}} : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %h = stablehlo.tanh %x : tensor<8x8xf32>
  // CHECK: %[[T:.*]] = stablehlo.transpose %[[R]]
  %t = stablehlo.transpose %h, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: %[[A:.*]] = stablehlo.add %{{.*}}, %[[T]]
  %a = stablehlo.add %p, %t : tensor<8x8xf32>
  // CHECK: stablehlo.multiply %[[A]], %[[A]] : tensor<8x8xf32>
  %m = stablehlo.multiply %a, %a : tensor<8x8xf32>
  return %m : tensor<8x8xf32>
}

// Of two products whose sum is kept the last one is, too: the first one ends with the sum.
// CHECK-LABEL: func.func @shortcut
func.func @shortcut(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: %[[P:.*]] = stablehlo.multiply %{{.*}} : tensor<8x8xf32>
  %pb = stablehlo.multiply %p, %c : tensor<8x8xf32>
  %q = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: %[[Q:.*]] = stablehlo.subtract %{{.*}} : tensor<8x8xf32>
  // CHECK: %[[N:.*]] = stablehlo.convert %[[Q]] : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  // CHECK: %[[R:.*]] = stablehlo.convert %[[N]] : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %qb = stablehlo.subtract %q, %c : tensor<8x8xf32>
  // CHECK: stablehlo.add %[[P]], %[[R]]
  %s = stablehlo.add %pb, %qb : tensor<8x8xf32>
  %m = stablehlo.maximum %s, %zero : tensor<8x8xf32>
  %l = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %l : tensor<8x8xf32>
}

// Images that are put together of parts are so of rounded ones, which all read; what the program returns stays.
// CHECK-LABEL: func.func @parts
func.func @parts(%x: tensor<1x4x4x2xf32>, %k: tensor<1x1x4x4xf32>, %l: tensor<1x1x6x4xf32>) -> (tensor<1x4x4x6xf32>, tensor<1x4x4x4xf32>) {
  // CHECK: %[[A:.*]] = stablehlo.tanh %arg0
  // CHECK: %[[H:.*]] = stablehlo.convert %[[A]] : (tensor<1x4x4x2xf32>) -> tensor<1x4x4x2xbf16>
  %a = stablehlo.tanh %x : tensor<1x4x4x2xf32>
  // CHECK: %[[C:.*]] = stablehlo.concatenate %[[H]], %[[H]], dim = 3 : (tensor<1x4x4x2xbf16>, tensor<1x4x4x2xbf16>) -> tensor<1x4x4x4xbf16>
  // CHECK: %[[W:.*]] = stablehlo.convert %[[C]] : (tensor<1x4x4x4xbf16>) -> tensor<1x4x4x4xf32>
  %c = stablehlo.concatenate %a, %a, dim = 3 : (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: %[[D:.*]] = stablehlo.convolution(%[[W]],
  %d = stablehlo.convolution(%c, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: stablehlo.add %[[W]], %[[D]]
  %e = stablehlo.add %c, %d : tensor<1x4x4x4xf32>
  // CHECK: stablehlo.concatenate {{.*}} -> tensor<1x4x4x6xf32>
  // CHECK: stablehlo.convolution
  %f = stablehlo.concatenate %a, %e, dim = 3 : (tensor<1x4x4x2xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x6xf32>
  %g = stablehlo.convolution(%f, %l) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x6xf32>, tensor<1x1x6x4xf32>) -> tensor<1x4x4x4xf32>
  return %f, %g : tensor<1x4x4x6xf32>, tensor<1x4x4x4xf32>
}
