// Custom calls for which there are operations become these; others, and those that are not as they should be, stay.
// RUN: cupel opt %s --rewrite-calls --split-input-file | FileCheck %s

// CHECK-LABEL: module @top
// CHECK-NOT: func.func private @less
// CHECK: %[[SORTED:.*]]:2 = "stablehlo.sort"(%arg0, %{{.*}}) <{dimension = 0 : i64, is_stable = true}>
// CHECK: stablehlo.compare LT
// CHECK: stablehlo.slice %[[SORTED]]#0 [0:2]
// CHECK: stablehlo.slice %[[SORTED]]#1 [0:2]
// CHECK-NOT: custom_call
module @top {
  func.func private @less(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func @main(%x: tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %i = stablehlo.iota dim = 0 : tensor<5xi32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %z, %c) {called_computations = [@less], mhlo.backend_config = {reduction_dim = 0 : i64, top_k = 2 : i64}} : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
  }
}

// -----

// CHECK-LABEL: module @partitioned
// CHECK: call @work(%arg0)
module @partitioned {
  func.func private @work(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @CustomSPMDPartitioning(%a) {called_computations = [@work]} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// CHECK-LABEL: module @buffers
// CHECK: stablehlo.constant dense<0> : tensor<3xi8>
// CHECK: stablehlo.custom_call @AllocateBuffer(%arg0)
// CHECK: stablehlo.custom_call @mystery
module @buffers {
  func.func @main(%a: tensor<2xf32>) -> (tensor<3xi8>, tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.custom_call @AllocateBuffer() : () -> tensor<3xi8>
    %1 = stablehlo.custom_call @AllocateBuffer(%a) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = stablehlo.custom_call @mystery(%a) : (tensor<2xf32>) -> tensor<2xf32>
    return %0, %1, %2 : tensor<3xi8>, tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// Of real numbers the decomposition is right.
// CHECK-LABEL: module @hyperbolic
// CHECK: chlo.sinh %arg0
// CHECK: stablehlo.composite "chlo.sinh" %arg1
module @hyperbolic {
  func.func @main(%a: tensor<complex<f32>>, %b: tensor<f32>) -> (tensor<complex<f32>>, tensor<f32>) {
    %0 = stablehlo.composite "chlo.sinh" %a {decomposition = @complex} : (tensor<complex<f32>>) -> tensor<complex<f32>>
    %1 = stablehlo.composite "chlo.sinh" %b {decomposition = @real} : (tensor<f32>) -> tensor<f32>
    return %0, %1 : tensor<complex<f32>>, tensor<f32>
  }
  func.func private @complex(%a: tensor<complex<f32>>) -> tensor<complex<f32>> {
    return %a : tensor<complex<f32>>
  }
  func.func private @real(%a: tensor<f32>) -> tensor<f32> {
    return %a : tensor<f32>
  }
}
