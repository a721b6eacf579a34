// The values are free by the specification; what must hold is checked: bounds, and mean and spread of many.

// Uniform on [2, 5).

func.func @main() {
  %a = stablehlo.constant dense<2.0> : tensor<f32>
  %b = stablehlo.constant dense<5.0> : tensor<f32>
  %shape = stablehlo.constant dense<[4096]> : tensor<1xi64>
  %x = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4096xf32>
  %min = stablehlo.reduce(%x init: %b) applies stablehlo.minimum across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
  %max = stablehlo.reduce(%x init: %a) applies stablehlo.maximum across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
  %inside_low = stablehlo.compare GE, %min, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %inside_high = stablehlo.compare LT, %max, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  check.expect_eq_const %inside_low, dense<true> : tensor<i1>
  check.expect_eq_const %inside_high, dense<true> : tensor<i1>
  // The ends are nearly reached.
  check.expect_almost_eq_const %min, dense<2.0> : tensor<f32>, tolerance = 0.02
  check.expect_almost_eq_const %max, dense<5.0> : tensor<f32>, tolerance = 0.02
  func.return
}

// -----

// Whole numbers -2, -1, 0, 1: all of them come up.

func.func @main() {
  %a = stablehlo.constant dense<-2> : tensor<i32>
  %b = stablehlo.constant dense<2> : tensor<i32>
  %shape = stablehlo.constant dense<[512]> : tensor<1xi64>
  %x = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<512xi32>
  %min = stablehlo.reduce(%x init: %b) applies stablehlo.minimum across dimensions = [0] : (tensor<512xi32>, tensor<i32>) -> tensor<i32>
  %max = stablehlo.reduce(%x init: %a) applies stablehlo.maximum across dimensions = [0] : (tensor<512xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %min, dense<-2> : tensor<i32>
  check.expect_eq_const %max, dense<1> : tensor<i32>
  func.return
}

// -----

// Normal, mean 3 and deviation 2; the mean of 65536 lies within 6 of its own deviations (2 / 256).

func.func @main() {
  %a = stablehlo.constant dense<3.0> : tensor<f64>
  %b = stablehlo.constant dense<2.0> : tensor<f64>
  %shape = stablehlo.constant dense<[65536]> : tensor<1xi64>
  %x = stablehlo.rng %a, %b, %shape, distribution = NORMAL : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<65536xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %n = stablehlo.constant dense<65536.0> : tensor<f64>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<65536xf64>, tensor<f64>) -> tensor<f64>
  %mean = stablehlo.divide %sum, %n : tensor<f64>
  check.expect_almost_eq_const %mean, dense<3.0> : tensor<f64>, tolerance = 0.047
  %squares = stablehlo.multiply %x, %x : tensor<65536xf64>
  %sum2 = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<65536xf64>, tensor<f64>) -> tensor<f64>
  %mean2 = stablehlo.divide %sum2, %n : tensor<f64>
  // 3 * 3 + 2 * 2
  check.expect_almost_eq_const %mean2, dense<13.0> : tensor<f64>, tolerance = 0.35
  func.return
}
