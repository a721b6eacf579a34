// Values: by hand.

// 1 + 2 + ... + 10.
func.func @main() {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %y:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %new = stablehlo.add %sum, %next : tensor<i32>
      stablehlo.return %next, %new : tensor<i32>, tensor<i32>
    }
  check.expect_eq_const %y#0, dense<10> : tensor<i32>
  check.expect_eq_const %y#1, dense<55> : tensor<i32>
  func.return
}

// -----

// A loop that swaps its two values five times, with tensors of different use.
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %n = stablehlo.constant dense<5> : tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %y:3 = stablehlo.while(%i = %n, %x = %a, %z = %b) : tensor<i64>, tensor<2xf32>, tensor<2xf32>
    cond {
      %more = stablehlo.compare GT, %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.subtract %i, %one : tensor<i64>
      stablehlo.return %next, %z, %x : tensor<i64>, tensor<2xf32>, tensor<2xf32>
    }
  check.expect_eq_const %y#1, dense<[3.0, 4.0]> : tensor<2xf32>
  check.expect_eq_const %y#2, dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}
