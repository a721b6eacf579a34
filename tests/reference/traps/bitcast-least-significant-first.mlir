// Trap: index 0 of the minor dimension holds the least significant bits; of a complex number the real part is the low one.

func.func @main() {
  %x = stablehlo.constant dense<[513]> : tensor<1xui16>
  %y = stablehlo.bitcast_convert %x : (tensor<1xui16>) -> tensor<1x2xui8>
  check.expect_eq_const %y, dense<[[1, 2]]> : tensor<1x2xui8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 0, 0]]> : tensor<1x4xui8>
  %y = stablehlo.bitcast_convert %x : (tensor<1x4xui8>) -> tensor<1xui32>
  check.expect_eq_const %y, dense<[513]> : tensor<1xui32>
  func.return
}

// -----

// 1.0 in f64 is 0x3FF00000 00000000, whose high word is 1.875 in f32.
func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f64>>
  %y = stablehlo.bitcast_convert %x : (tensor<1xcomplex<f64>>) -> tensor<1x2xcomplex<f32>>
  check.expect_eq_const %y, dense<[[(0.0, 1.875), (0.0, 2.0)]]> : tensor<1x2xcomplex<f32>>
  func.return
}
