// Values: the IEEE encodings, by hand; the least significant part is at index 0.

func.func @main() {
  %x = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %y = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[1065353216, -1073741824]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[16909060]> : tensor<1xi32>
  %y = stablehlo.bitcast_convert %x : (tensor<1xi32>) -> tensor<1x4xi8>
  check.expect_eq_const %y, dense<[[4, 3, 2, 1]]> : tensor<1x4xi8>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0, 16256], [0, 49152]]> : tensor<2x2xui16>
  %y = stablehlo.bitcast_convert %x : (tensor<2x2xui16>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[1.0, -2.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[1.0]> : tensor<1xf64>
  %y = stablehlo.bitcast_convert %x : (tensor<1xf64>) -> tensor<1x2xui32>
  check.expect_eq_const %y, dense<[[0, 1072693248]]> : tensor<1x2xui32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0xf32>
  %y = stablehlo.bitcast_convert %x : (tensor<0xf32>) -> tensor<0x4xui8>
  check.expect_eq_const %y, dense<> : tensor<0x4xui8>
  func.return
}
