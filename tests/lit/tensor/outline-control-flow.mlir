// Regions of loops and branches become functions: what they use is handed to them, small constants
// are made again inside, what a loop does not change is not carried, and its test stands behind its body.
// RUN: cupel opt %s --outline-control-flow | FileCheck %s
// RUN: cupel opt %s --outline-control-flow --expand-tensor-ir | FileCheck %s --check-prefix=AGAIN

// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]]:2 = tir.while @main.while do @main.do(%{{.*}}, %arg0, %arg2, %arg1) carrying 2
// CHECK: %[[I:.*]] = stablehlo.convert %arg3 : (tensor<i1>) -> tensor<i32>
// CHECK: tir.case %[[I]] of [@main.else, @main.then](%[[W]]#1, %arg1)
// Branches of a few cheap operations are computed all.
// CHECK-LABEL: func.func @few
// CHECK-DAG: %[[NEGATED:.*]] = stablehlo.negate %arg1
// CHECK-DAG: %[[SUM:.*]] = stablehlo.add %arg1, %arg1
// CHECK-DAG: %[[LAST:.*]] = stablehlo.compare EQ, %arg0, %{{.*}}
// CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<i1>, tensor<4xf32>
// CHECK-NOT: tir.case
// CHECK: return
// CHECK-LABEL: func.func private @main.while(%arg0: tensor<i32>, %arg1: tensor<4xf32>, %arg2: tensor<i32>, %arg3: tensor<4xf32>) -> tensor<i1>
// CHECK: stablehlo.compare LT, %arg0, %arg2
// CHECK-LABEL: func.func private @main.do(%arg0: tensor<i32>, %arg1: tensor<4xf32>, %arg2: tensor<i32>, %arg3: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>, tensor<i1>)
// CHECK: %[[ONE:.*]] = stablehlo.constant dense<1>
// CHECK: %[[NEXT:.*]] = stablehlo.add %arg0, %[[ONE]]
// CHECK: %[[SUM:.*]] = stablehlo.add %arg1, %arg3
// CHECK: %[[TEST:.*]] = stablehlo.compare LT, %[[NEXT]], %arg2
// CHECK: return %[[NEXT]], %[[SUM]], %[[TEST]]
// CHECK-LABEL: func.func private @main.else
// CHECK: return %arg1
// CHECK-LABEL: func.func private @main.then
// CHECK: stablehlo.sine %arg0

// AGAIN-LABEL: func.func @main
// AGAIN: stablehlo.while
// AGAIN: "stablehlo.case"
// AGAIN-NOT: tir.
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %s = %x, %same = %y) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.add %s, %same : tensor<4xf32>
    stablehlo.return %1, %2, %same : tensor<i32>, tensor<4xf32>, tensor<4xf32>
  }
  %3 = "stablehlo.if"(%p) ({
    %4 = stablehlo.sine %0#1 : tensor<4xf32>
    stablehlo.return %4 : tensor<4xf32>
  }, {
    stablehlo.return %y : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %3, %0#2 : tensor<4xf32>, tensor<4xf32>
}

func.func @few(%i: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.case"(%i) ({
    %1 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }, {
    %1 = stablehlo.add %x, %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
