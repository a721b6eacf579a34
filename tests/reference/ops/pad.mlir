// Values: by hand for the first two, the others by a loop in NumPy.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %v = stablehlo.constant dense<9> : tensor<i32>
  %y = stablehlo.pad %x, %v, low = [1], high = [2], interior = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<5xi32>
  check.expect_eq_const %y, dense<[9, 1, 2, 9, 9]> : tensor<5xi32>
  func.return
}

// -----

// Interior padding lies between elements only; negative edges cut.
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %v = stablehlo.constant dense<0.5> : tensor<f32>
  %y = stablehlo.pad %x, %v, low = [-1], high = [1], interior = [2] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  check.expect_eq_const %y, dense<[0.5, 0.5, 2.0, 0.5, 0.5, 3.0, 0.5]> : tensor<7xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
  %v = stablehlo.constant dense<7> : tensor<i32>
  %y = stablehlo.pad %x, %v, low = [1, -1], high = [0, 2], interior = [1, 2] : (tensor<2x3xi32>, tensor<i32>) -> tensor<4x8xi32>
  check.expect_eq_const %y, dense<[[7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 1, 7, 7, 2, 7, 7], [7, 7, 7, 7, 7, 7, 7, 7], [7, 7, 4, 7, 7, 5, 7, 7]]> : tensor<4x8xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<> : tensor<0x2xi32>
  %v = stablehlo.constant dense<7> : tensor<i32>
  %y = stablehlo.pad %x, %v, low = [1, 0], high = [1, 0], interior = [3, 0] : (tensor<0x2xi32>, tensor<i32>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[7, 7], [7, 7]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[true]> : tensor<1xi1>
  %v = stablehlo.constant dense<false> : tensor<i1>
  %y = stablehlo.pad %x, %v, low = [1], high = [1], interior = [0] : (tensor<1xi1>, tensor<i1>) -> tensor<3xi1>
  check.expect_eq_const %y, dense<[false, true, false]> : tensor<3xi1>
  func.return
}
