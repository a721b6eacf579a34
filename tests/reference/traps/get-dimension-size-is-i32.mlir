// Trap: get_dimension_size gives i32 whatever the tensor.

func.func @main() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (2.0, 0.0)]> : tensor<2xcomplex<f64>>
  %y = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2xcomplex<f64>>) -> tensor<i32>
  check.expect_eq_const %y, dense<2> : tensor<i32>
  func.return
}
