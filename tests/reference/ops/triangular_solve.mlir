// Values: by hand; the solution was chosen and the right-hand side computed from it.

func.func @main() {
  %a = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0]]> : tensor<3x3xf32>
  %b = stablehlo.constant dense<[[2.0, 4.0], [10.0, -1.0], [3.0, 0.0]]> : tensor<3x2xf32>
  %x = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  check.expect_almost_eq_const %x, dense<[[1.0, 2.0], [3.0, -1.0], [-2.0, 4.0]]> : tensor<3x2xf32>, tolerance = 1.0e-6
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0]]> : tensor<3x3xf64>
  %b = stablehlo.constant dense<[[7.0, -1.0], [5.0, 5.0], [-2.0, 4.0]]> : tensor<3x2xf64>
  %x = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  check.expect_almost_eq_const %x, dense<[[1.0, 2.0], [3.0, -1.0], [-2.0, 4.0]]> : tensor<3x2xf64>, tolerance = 1.0e-14
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0]]> : tensor<3x3xf64>
  %b = stablehlo.constant dense<[[7.0, 5.0, -2.0], [-1.0, 5.0, 4.0]]> : tensor<2x3xf64>
  %x = "stablehlo.triangular_solve"(%a, %b) {left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_almost_eq_const %x, dense<[[1.0, 3.0, -2.0], [2.0, -1.0, 4.0]]> : tensor<2x3xf64>, tolerance = 1.0e-14
  func.return
}

// -----

func.func @main() {
  %a = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0]]> : tensor<3x3xf64>
  %b = stablehlo.constant dense<[[2.0, 10.0, 3.0], [4.0, -1.0, 0.0]]> : tensor<2x3xf64>
  %x = "stablehlo.triangular_solve"(%a, %b) {left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  check.expect_almost_eq_const %x, dense<[[1.0, 3.0, -2.0], [2.0, -1.0, 4.0]]> : tensor<2x3xf64>, tolerance = 1.0e-14
  func.return
}

// -----

// The diagonal is taken to be one; what stands there is not read.
func.func @main() {
  %a = stablehlo.constant dense<[[5.0, 5.0, -2.0], [0.0, 5.0, 3.0], [0.0, 0.0, 5.0]]> : tensor<3x3xf64>
  %b = stablehlo.constant dense<[[20.0, -11.0], [-3.0, 11.0], [-2.0, 4.0]]> : tensor<3x2xf64>
  %x = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  check.expect_almost_eq_const %x, dense<[[1.0, 2.0], [3.0, -1.0], [-2.0, 4.0]]> : tensor<3x2xf64>, tolerance = 1.0e-14
  func.return
}

// -----

// The other triangle is not read.
func.func @main() {
  %a = stablehlo.constant dense<[[2.0, 50.0, 50.0], [1.0, 3.0, 50.0], [-1.0, 2.0, 1.0]]> : tensor<3x3xf64>
  %b = stablehlo.constant dense<[[2.0, 4.0], [10.0, -1.0], [3.0, 0.0]]> : tensor<3x2xf64>
  %x = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  check.expect_almost_eq_const %x, dense<[[1.0, 2.0], [3.0, -1.0], [-2.0, 4.0]]> : tensor<3x2xf64>, tolerance = 1.0e-14
  func.return
}

// -----

// ADJOINT conjugates.
func.func @main() {
  %a = stablehlo.constant dense<[[(2.0, 0.0), (0.0, 0.0)], [(1.0, 2.0), (3.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %b = stablehlo.constant dense<[[(5.0, -6.0), (3.0, 2.0)], [(9.0, 0.0), (-3.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %x = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  check.expect_almost_eq_const %x, dense<[[(1.0, 0.0), (2.0, 0.0)], [(3.0, 0.0), (-1.0, 0.0)]]> : tensor<2x2xcomplex<f64>>, tolerance = 1.0e-14
  func.return
}

// -----

// A batch: each matrix has its own diagonal.
func.func @main() {
  %a = stablehlo.constant dense<[[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 2.0, 1.0]], [[6.0, 0.0, 0.0], [3.0, 9.0, 0.0], [-3.0, 6.0, 3.0]]]> : tensor<2x3x3xf64>
  %b = stablehlo.constant dense<[[[2.0, 4.0], [10.0, -1.0], [3.0, 0.0]], [[6.0, 12.0], [30.0, -3.0], [9.0, 0.0]]]> : tensor<2x3x2xf64>
  %x = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x3x3xf64>, tensor<2x3x2xf64>) -> tensor<2x3x2xf64>
  check.expect_almost_eq_const %x, dense<[[[1.0, 2.0], [3.0, -1.0], [-2.0, 4.0]], [[1.0, 2.0], [3.0, -1.0], [-2.0, 4.0]]]> : tensor<2x3x2xf64>, tolerance = 1.0e-14
  func.return
}
