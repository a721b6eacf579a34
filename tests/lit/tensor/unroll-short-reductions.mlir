// The few elements of a last dimension are combined one by one.
// RUN: cupel opt %s --unroll-short-reductions | FileCheck %s

// Squares are computed for each coordinate; the first sum begins with the initial value, as a reduction does.
// CHECK-LABEL: func.func @distances
// CHECK-NOT: stablehlo.reduce
// CHECK: %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<100xf32>
// CHECK: stablehlo.slice %arg0 [0:100, 0:1]
// CHECK: %[[A:.*]] = stablehlo.multiply {{.*}} : tensor<100xf32>
// CHECK: %[[S:.*]] = stablehlo.add %[[Z]], %[[A]] : tensor<100xf32>
// CHECK: stablehlo.slice %arg0 [0:100, 1:2]
// CHECK: %[[B:.*]] = stablehlo.multiply {{.*}} : tensor<100xf32>
// CHECK: stablehlo.add %[[S]], %[[B]] : tensor<100xf32>
func.func @distances(%x: tensor<100x2xf32>) -> tensor<100xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %x : tensor<100x2xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<100x2xf32>, tensor<f32>) -> tensor<100xf32>
  return %1 : tensor<100xf32>
}

// What is squared has one reader, though two operands are it: differences of all pairs of points are computed for each coordinate.
// CHECK-LABEL: func.func @all_pairs
// CHECK-NOT: stablehlo.subtract {{.*}} : tensor<64x64x2xf32>
// CHECK: %[[D:.*]] = stablehlo.subtract {{.*}} : tensor<64x64xf32>
// CHECK-NEXT: stablehlo.multiply %[[D]], %[[D]] : tensor<64x64xf32>
// CHECK: %[[E:.*]] = stablehlo.subtract {{.*}} : tensor<64x64xf32>
// CHECK-NEXT: stablehlo.multiply %[[E]], %[[E]] : tensor<64x64xf32>
// CHECK-NOT: stablehlo.subtract
func.func @all_pairs(%x: tensor<64x2xf32>, %y: tensor<64x2xf32>) -> tensor<64x64xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<64x2xf32>) -> tensor<64x64x2xf32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1, 2] : (tensor<64x2xf32>) -> tensor<64x64x2xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<64x64x2xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<64x64x2xf32>
  %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [2] : (tensor<64x64x2xf32>, tensor<f32>) -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}

// What was joined is taken apart again.
// CHECK-LABEL: func.func @joined
// CHECK-NOT: stablehlo.concatenate
// CHECK: stablehlo.maximum {{.*}} : tensor<100xf32>
// CHECK: stablehlo.maximum {{.*}} : tensor<100xf32>
func.func @joined(%x: tensor<100x1xf32>, %y: tensor<100x1xf32>) -> tensor<100xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<100x1xf32>, tensor<100x1xf32>) -> tensor<100x2xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<100x2xf32>, tensor<f32>) -> tensor<100xf32>
  return %1 : tensor<100xf32>
}

// The largest and its place, as for windows of a pool: all of the step for each element, whose places are known.
// CHECK-LABEL: func.func @largest_and_place
// CHECK-NOT: stablehlo.reduce
// CHECK-NOT: stablehlo.iota
// CHECK-DAG: %[[LOW:.*]] = stablehlo.constant dense<0xFF800000> : tensor<100xf32>
// CHECK-DAG: %[[NONE:.*]] = stablehlo.constant dense<-1> : tensor<100xi32>
// CHECK: stablehlo.slice %arg0 [0:100, 0:1]
// CHECK: %[[FIRST:.*]] = stablehlo.constant dense<0> : tensor<100xi32>
// CHECK: %[[OVER:.*]] = stablehlo.compare GE, %[[LOW]], {{.*}} : (tensor<100xf32>, tensor<100xf32>) -> tensor<100xi1>
// CHECK: %[[V:.*]] = stablehlo.select %[[OVER]], %[[LOW]],
// CHECK: %[[I:.*]] = stablehlo.select %[[OVER]], %[[NONE]], %[[FIRST]]
// CHECK: stablehlo.slice %arg0 [0:100, 1:2]
// CHECK: %[[SECOND:.*]] = stablehlo.constant dense<1> : tensor<100xi32>
// CHECK: %[[THEN:.*]] = stablehlo.compare GE, %[[V]],
// CHECK: %[[LARGEST:.*]] = stablehlo.select %[[THEN]], %[[V]],
// CHECK: %[[PLACE:.*]] = stablehlo.select %[[THEN]], %[[I]], %[[SECOND]]
// CHECK: return %[[LARGEST]], %[[PLACE]]
func.func @largest_and_place(%x: tensor<100x2xf32>) -> (tensor<100xf32>, tensor<100xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %places = stablehlo.iota dim = 1 : tensor<100x2xi32>
  %0:2 = stablehlo.reduce(%x init: %low), (%places init: %none) across dimensions = [1] : (tensor<100x2xf32>, tensor<100x2xi32>, tensor<f32>, tensor<i32>) -> (tensor<100xf32>, tensor<100xi32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %1, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<100xf32>, tensor<100xi32>
}

// Longer rows, halves, and rows that meet what they were reduced to stay.
// CHECK-LABEL: func.func @stay
// CHECK-COUNT-3: stablehlo.reduce(
func.func @stay(%x: tensor<100x5xf32>, %y: tensor<100x2xbf16>, %w: tensor<100x3xf32>) -> (tensor<100xf32>, tensor<100xbf16>, tensor<100x3xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %h = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<100x5xf32>, tensor<f32>) -> tensor<100xf32>
  %1 = stablehlo.reduce(%y init: %h) applies stablehlo.add across dimensions = [1] : (tensor<100x2xbf16>, tensor<bf16>) -> tensor<100xbf16>
  %2 = stablehlo.reduce(%w init: %z) applies stablehlo.add across dimensions = [1] : (tensor<100x3xf32>, tensor<f32>) -> tensor<100xf32>
  %3 = stablehlo.sqrt %2 : tensor<100xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<100xf32>) -> tensor<100x3xf32>
  %5 = stablehlo.divide %w, %4 : tensor<100x3xf32>
  return %0, %1, %5 : tensor<100xf32>, tensor<100xbf16>, tensor<100x3xf32>
}
