// Values: numpy.einsum; small whole numbers, so that every order of summation is exact.

func.func @main() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %b = stablehlo.constant dense<[[-2, -1], [0, 1], [2, 3]]> : tensor<3x2xi32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[4, 10], [4, 19]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = stablehlo.constant dense<[[-2.0, -1.0], [0.0, 1.0], [2.0, 3.0]]> : tensor<3x2xf32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[4.0, 10.0], [4.0, 19.0]]> : tensor<2x2xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xbf16>
  %b = stablehlo.constant dense<[[-2.0, -1.0], [0.0, 1.0], [2.0, 3.0]]> : tensor<3x2xbf16>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, tensor<3x2xbf16>) -> tensor<2x2xf32>
  check.expect_eq_const %y, dense<[[4.0, 10.0], [4.0, 19.0]]> : tensor<2x2xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xbf16>
  %b = stablehlo.constant dense<[[-2.0, -1.0], [0.0, 1.0], [2.0, 3.0]]> : tensor<3x2xbf16>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, tensor<3x2xbf16>) -> tensor<2x2xbf16>
  check.expect_eq_const %y, dense<[[4.0, 10.0], [4.0, 19.0]]> : tensor<2x2xbf16>
  func.return
}

// -----

// i8 to i32: no wrap at 8 bits.
func.func @main() {
  %a = stablehlo.constant dense<[[100, 100]]> : tensor<1x2xi8>
  %b = stablehlo.constant dense<[[100], [100]]> : tensor<2x1xi8>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x2xi8>, tensor<2x1xi8>) -> tensor<1x1xi32>
  check.expect_eq_const %y, dense<[[20000]]> : tensor<1x1xi32>
  func.return
}

// -----

// Batches.
func.func @main() {
  %a = stablehlo.constant dense<[[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]]> : tensor<2x2x3xf64>
  %b = stablehlo.constant dense<[[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [[6.0, 7.0], [8.0, 9.0], [10.0, 11.0]]]> : tensor<2x3x2xf64>
  %y = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x2x3xf64>, tensor<2x3x2xf64>) -> tensor<2x2x2xf64>
  check.expect_eq_const %y, dense<[[[10.0, 13.0], [28.0, 40.0]], [[172.0, 193.0], [244.0, 274.0]]]> : tensor<2x2x2xf64>
  func.return
}

// -----

// Two contracting dimensions, in crossed order.
func.func @main() {
  %a = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>
  %b = stablehlo.constant dense<[[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]> : tensor<3x2x2xi64>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [0, 1] x [1, 0] : (tensor<2x3xi64>, tensor<3x2x2xi64>) -> tensor<2xi64>
  check.expect_eq_const %y, dense<[100, 115]> : tensor<2xi64>
  func.return
}

// -----

// An outer product.
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[3.0, 4.0, 5.0]> : tensor<3xf32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]> : tensor<2x3xf32>
  func.return
}

// -----

// Nothing to contract over: zeros.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<2x0xf32>
  %b = stablehlo.constant dense<> : tensor<0x3xf32>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  check.expect_eq_const %y, dense<[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<2x3xf32>
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[(1.0, 2.0), (3.0, 0.0)]]> : tensor<1x2xcomplex<f32>>
  %b = stablehlo.constant dense<[[(0.0, 1.0)], [(2.0, 0.0)]]> : tensor<2x1xcomplex<f32>>
  %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x2xcomplex<f32>>, tensor<2x1xcomplex<f32>>) -> tensor<1x1xcomplex<f32>>
  check.expect_eq_const %y, dense<[[(4.0, 1.0)]]> : tensor<1x1xcomplex<f32>>
  func.return
}
