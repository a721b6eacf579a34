// Trap: the accumulator comes first in the function and starts as the initial value; elements follow in row-major order:
// 100 - 1 - 2 - 3 = 94; in bf16 256 + 1 + 1 + 1 is 256.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %init = stablehlo.constant dense<100> : tensor<i32>
  %y = stablehlo.reduce(%x init: %init) across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    reducer(%accumulator: tensor<i32>, %element: tensor<i32>) {
      %z = stablehlo.subtract %accumulator, %element : tensor<i32>
      stablehlo.return %z : tensor<i32>
    }
  check.expect_eq_const %y, dense<94> : tensor<i32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[256.0, 1.0, 1.0, 1.0]> : tensor<4xbf16>
  %init = stablehlo.constant dense<0.0> : tensor<bf16>
  %y = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0] : (tensor<4xbf16>, tensor<bf16>) -> tensor<bf16>
  check.expect_eq_const %y, dense<256.0> : tensor<bf16>
  func.return
}
