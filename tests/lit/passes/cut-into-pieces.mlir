// Parts of a program become functions that it calls one after another; what a part needs of constants it makes itself.
// RUN: cupel opt %s --cut-into-pieces=pieces=2 --split-input-file --verify-diagnostics | FileCheck %s

// The cheapest place near the middle is behind the reduction.
// CHECK-LABEL: module @cheapest
// CHECK: func.func private @piece_0(%arg0: tensor<8xf32>) -> tensor<f32>
// CHECK: stablehlo.constant
// CHECK: stablehlo.add
// CHECK: %[[SUM:.*]] = stablehlo.reduce
// CHECK: return %[[SUM]]
// CHECK: func.func private @piece_1(%arg0: tensor<f32>) -> tensor<8xf32>
// CHECK: stablehlo.negate
// CHECK: %[[ONE:.*]] = stablehlo.constant
// CHECK: %[[ONES:.*]] = stablehlo.broadcast_in_dim %[[ONE]]
// CHECK: stablehlo.multiply %{{.*}}, %[[ONES]]
// CHECK: func.func @main(%arg0: tensor<8xf32>)
// CHECK-NEXT: %[[A:.*]] = call @piece_0(%arg0)
// CHECK-NEXT: %[[B:.*]] = call @piece_1(%[[A]])
// CHECK-NEXT: return %[[B]]
module @cheapest {
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %0 = stablehlo.add %a, %ones : tensor<8xf32>
    %1 = stablehlo.exponential %0 : tensor<8xf32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.negate %2 : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.multiply %4, %ones : tensor<8xf32>
    return %5 : tensor<8xf32>
  }
}

// -----

// What a region captures is handed on, an argument that is returned and a constant stay, and a called function is put in line.
// CHECK-LABEL: module @captured
// CHECK: func.func private @piece_0
// CHECK: func.func private @piece_1({{.*}}tensor<2xf32>
// CHECK: stablehlo.if
// CHECK: func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<i1>)
// CHECK: %[[K:.*]] = stablehlo.constant
// CHECK: call @piece_0
// CHECK: %[[R:.*]] = call @piece_1
// CHECK: return %[[R]], %arg0, %[[K]]
module @captured {
  func.func @main(%a: tensor<2xf32>, %p: tensor<i1>) -> (tensor<2xf32>, tensor<2xf32>, tensor<f32>) {
    %k = stablehlo.constant dense<3.0> : tensor<f32>
    %0 = call @twice(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = "stablehlo.if"(%p) ({
      %2 = stablehlo.add %0, %a : tensor<2xf32>
      stablehlo.return %2 : tensor<2xf32>
    }, {
      stablehlo.return %0 : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    return %1, %a, %k : tensor<2xf32>, tensor<2xf32>, tensor<f32>
  }
  func.func private @twice(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %a, %a : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// No cut where a token is alive.
// CHECK-LABEL: module @token
// CHECK: func.func private @piece_0
// CHECK: stablehlo.create_token
// CHECK: stablehlo.after_all
// CHECK: func.func @main
// CHECK-NOT: @piece_1
module @token {
  func.func @alone(%a: tensor<2xf32>) -> !stablehlo.token {
    %0 = stablehlo.create_token : !stablehlo.token
    %1 = stablehlo.after_all %0 : !stablehlo.token
    %2 = stablehlo.after_all %1 : !stablehlo.token
    return %2 : !stablehlo.token
  }
}

// -----

// expected-error @+1 {{it cannot be cut into pieces: it has several blocks, or its calls cannot be put in line}}
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @elsewhere(%a) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @elsewhere(tensor<f32>) -> tensor<f32>
