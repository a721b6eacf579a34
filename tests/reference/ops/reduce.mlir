// Values: NumPy for the first four, the others by hand.

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[3, 12]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  check.expect_eq_const %y, dense<[3.0, 5.0, 7.0]> : tensor<3xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xbf16>
  %init = stablehlo.constant dense<100.0> : tensor<bf16>
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<2x3xbf16>, tensor<bf16>) -> tensor<bf16>
  check.expect_eq_const %y, dense<0.0> : tensor<bf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]> : tensor<2x3xf64>
  %init = stablehlo.constant dense<1.0> : tensor<f64>
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.maximum across dimensions = [0] : (tensor<2x3xf64>, tensor<f64>) -> tensor<3xf64>
  check.expect_eq_const %y, dense<[3.0, 4.0, 5.0]> : tensor<3xf64>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %init = stablehlo.constant dense<false> : tensor<i1>
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.or across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
  check.expect_eq_const %y, dense<true> : tensor<i1>
  func.return
}

// -----

// No dimension: the initial value still takes part.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %init = stablehlo.constant dense<10> : tensor<i32>
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [] : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[11, 12]> : tensor<2xi32>
  func.return
}

// -----

// Nothing to reduce leaves the initial value.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %init = stablehlo.constant dense<7.0> : tensor<f32>
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[7.0, 7.0]> : tensor<2xf32>
  func.return
}

// -----

// i8 wraps.
func.func @main() {
  %x = stablehlo.constant dense<[100, 100]> : tensor<2xi8>
  %init = stablehlo.constant dense<0> : tensor<i8>
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0] : (tensor<2xi8>, tensor<i8>) -> tensor<i8>
  check.expect_eq_const %y, dense<-56> : tensor<i8>
  func.return
}

// -----

// The place of the largest element: two results, a function of our own.
func.func @main() {
  %x = stablehlo.constant dense<[[3.0, 9.0, 2.0], [8.0, 1.0, 8.0]]> : tensor<2x3xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y:2 = stablehlo.reduce(%x init: %lowest), (%i init: %zero) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %keep = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %value = stablehlo.select %keep, %a, %b : tensor<i1>, tensor<f32>
      %place = stablehlo.select %keep, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %value, %place : tensor<f32>, tensor<i32>
    }
  check.expect_eq_const %y#0, dense<[9.0, 8.0]> : tensor<2xf32>
  check.expect_eq_const %y#1, dense<[1, 0]> : tensor<2xi32>
  func.return
}
