// Custom calls that LAPACK answers; values worked out by hand.

// LU of [[4, 3], [6, 3]]: the rows change places, L = [[1, 0], [2/3, 1]], U = [[6, 3], [0, 1]].
func.func @lu() {
  %a = stablehlo.constant dense<[[4.0, 3.0], [6.0, 3.0]]> : tensor<2x2xf64>
  %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xi32>, tensor<i32>)
  check.expect_almost_eq_const %0#0, dense<[[6.0, 3.0], [0.66666666666666663, 1.0]]> : tensor<2x2xf64>
  check.expect_eq_const %0#1, dense<[2, 2]> : tensor<2xi32>
  check.expect_eq_const %0#2, dense<0> : tensor<i32>
  func.return
}

// -----

// A Cholesky factor in a stack of two: [[4, 2], [2, 5]] = L L^T with L = [[2, 0], [1, 2]]; [[1, 0], [0, -1]] fails at row 2.
func.func @cholesky() {
  %a = stablehlo.constant dense<[[[4.0, 2.0], [2.0, 5.0]], [[1.0, 0.0], [0.0, -1.0]]]> : tensor<2x2x2xf32>
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2x2xf32>) -> (tensor<2x2x2xf32>, tensor<2xi32>)
  %l = stablehlo.slice %0#0 [0:1, 0:2, 0:1] : (tensor<2x2x2xf32>) -> tensor<1x2x1xf32>
  check.expect_almost_eq_const %l, dense<[[[2.0], [1.0]]]> : tensor<1x2x1xf32>
  check.expect_eq_const %0#1, dense<[0, 2]> : tensor<2xi32>
  func.return
}

// -----

// Eigenvalues of [[2, 1], [1, 2]] are 1 and 3; of the Hermitian [[1, i], [-i, 1]] they are 0 and 2.
func.func @eigenvalues() {
  %a = stablehlo.constant dense<[[2.0, 1.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %0:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%a) {mhlo.backend_config = {mode = 78 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<i32>)
  check.expect_almost_eq_const %0#1, dense<[1.0, 3.0]> : tensor<2xf32>
  %c = stablehlo.constant dense<[[(1.0, 0.0), (0.0, 1.0)], [(0.0, -1.0), (1.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %1:3 = stablehlo.custom_call @lapack_zheevd_ffi(%c) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<2x2xcomplex<f64>>) -> (tensor<2x2xcomplex<f64>>, tensor<2xf64>, tensor<i32>)
  check.expect_almost_eq_const %1#1, dense<[0.0, 2.0]> : tensor<2xf64>
  func.return
}

// -----

// A rotation by a right angle has the eigenvalues i and -i; backend_config as a dictionary of a typed call.
func.func @general_eigenvalues() {
  %a = stablehlo.constant dense<[[0.0, -1.0], [1.0, 0.0]]> : tensor<2x2xf64>
  %0:5 = stablehlo.custom_call @lapack_dgeev_ffi(%a) {api_version = 4 : i32, backend_config = {compute_left = 78 : ui8, compute_right = 78 : ui8}} : (tensor<2x2xf64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2x2xcomplex<f64>>, tensor<2x2xcomplex<f64>>, tensor<i32>)
  check.expect_almost_eq_const %0#0, dense<[0.0, 0.0]> : tensor<2xf64>
  check.expect_almost_eq_const %0#1, dense<[1.0, -1.0]> : tensor<2xf64>
  func.return
}

// -----

// Singular values of diag(3, 4) turned by a right angle are 4 and 3.
func.func @singular_values() {
  %a = stablehlo.constant dense<[[0.0, -4.0], [3.0, 0.0], [0.0, 0.0]]> : tensor<3x2xf32>
  %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%a) {mhlo.backend_config = {mode = 83 : ui8}} : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<i32>)
  check.expect_almost_eq_const %0#1, dense<[4.0, 3.0]> : tensor<2xf32>
  func.return
}

// -----

// QR of a column of length 5: R is -5 by LAPACK's sign, Q its direction.
func.func @qr() {
  %a = stablehlo.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
  %0:2 = stablehlo.custom_call @Qr(%a) : (tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<1xf32>)
  %r = stablehlo.slice %0#0 [0:1, 0:1] : (tensor<2x1xf32>) -> tensor<1x1xf32>
  check.expect_almost_eq_const %r, dense<[[-5.0]]> : tensor<1x1xf32>
  %q = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%0#0, %0#1) : (tensor<2x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  check.expect_almost_eq_const %q, dense<[[-0.6], [-0.8]]> : tensor<2x1xf32>
  func.return
}
