// Values: by hand.

func.func @main() {
  %x = stablehlo.constant dense<[[3, 1, 2], [9, 7, 8]]> : tensor<2x3xi32>
  %y = "stablehlo.sort"(%x) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %less = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }) {dimension = 1 : i64} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %y, dense<[[1, 2, 3], [7, 8, 9]]> : tensor<2x3xi32>
  func.return
}

// -----

// Descending, along the first dimension, counted from the end.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 4.0], [3.0, 2.0]]> : tensor<2x2xf32>
  %y = "stablehlo.sort"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %more = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
  }) {dimension = -2 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[3.0, 4.0], [1.0, 2.0]]> : tensor<2x2xf32>
  func.return
}

// -----

// A payload follows its key; a stable sort keeps the order of equal keys.
func.func @main() {
  %key = stablehlo.constant dense<[2, 1, 2, 1]> : tensor<4xi8>
  %payload = stablehlo.constant dense<[10, 20, 30, 40]> : tensor<4xi64>
  %y:2 = "stablehlo.sort"(%key, %payload) ({
    ^bb0(%a: tensor<i8>, %b: tensor<i8>, %p: tensor<i64>, %q: tensor<i64>):
      %less = stablehlo.compare LT, %a, %b : (tensor<i8>, tensor<i8>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xi8>, tensor<4xi64>) -> (tensor<4xi8>, tensor<4xi64>)
  check.expect_eq_const %y#0, dense<[1, 1, 2, 2]> : tensor<4xi8>
  check.expect_eq_const %y#1, dense<[20, 40, 10, 30]> : tensor<4xi64>
  func.return
}
