// What the verifier of tensor IR refuses.
// RUN: cupel opt %s --split-input-file --verify-diagnostics

func.func @main(%b: tensor<6xf32>) -> tensor<9xf32> {
  // expected-error @below {{reads elements 0 to 8 of 'tensor<6xf32>'}}
  %0 = tir.map(%b) over [9] reading [#tir.view<0, [1]>] : (tensor<6xf32>) -> tensor<9xf32> {
  ^bb0(%x: tensor<f32>):
    tir.yield %x : tensor<f32>
  }
  return %0 : tensor<9xf32>
}

// -----

func.func @main(%b: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{holds stablehlo.reverse, which is not elementwise}}
  %0 = tir.map(%b) over [6] reading [#tir.view<0, [1]>] : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%x: tensor<f32>):
    %y = stablehlo.reverse %x, dims = [] : tensor<f32>
    tir.yield %y : tensor<f32>
  }
  return %0 : tensor<6xf32>
}

// -----

func.func @main(%a: tensor<4x6xf32>) -> tensor<4xf32> {
  // expected-error @below {{holds stablehlo.reduce, which begins with what is no constant}}
  %0 = tir.row(%a, %a) over [4] rows of 6 reading [#tir.view<0, [6, 1]>, #tir.view<0, [6]>] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<6xf32>, %z: tensor<f32>):
    %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    tir.yield %s : tensor<f32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%a: tensor<4x6xf32>, %w: tensor<6x3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{reads elements 0 to 20 of 'tensor<6x3xf32>'}}
  %3 = tir.product(%a, %w) batch [] rows 4 columns 3 depth 7 reading [#tir.view<0, [3, 1]>, #tir.view<0, [3, 1]>] : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32> {
  ^bb0(%x: tensor<f32>):
    tir.yield %x : tensor<f32>
  }
  return %3 : tensor<4x3xf32>
}

// -----

func.func @main(%i: tensor<i32>, %b: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{does not fit the type of @other}}
  %0 = tir.case %i of [@other](%b) : (tensor<i32>, tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
func.func private @other(%x: tensor<5xf32>) -> tensor<6xf32>

// -----

func.func @main(%b: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{needs a result for each value that it carries}}
  %0 = tir.while @test do @step(%b) carrying 2 : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @main(%x: tensor<1x5x5x2xf32>) -> tensor<2x1x2x2xf32> {
  // expected-error @below {{gives 1 places, not 2}}
  %0 = tir.correlation(%x, %x) strides [1, 1] padding [0, 0, 0, 0] dilations [1, 1] : (tensor<1x5x5x2xf32>, tensor<1x5x5x2xf32>) -> tensor<2x1x2x2xf32>
  return %0 : tensor<2x1x2x2xf32>
}
