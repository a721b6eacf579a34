// Values: by hand.

func.func @main() {
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %y = stablehlo.select %p, %a, %b : (tensor<2xi1>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[1, 4]> : tensor<2xi32>
  func.return
}

// -----

// A predicate of rank 0 chooses the whole tensor.
func.func @main() {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %y = stablehlo.select %p, %a, %b : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[3.0, 4.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @main() {
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %a = stablehlo.constant dense<[(1.0, 1.0), (2.0, 0.0)]> : tensor<2xcomplex<f32>>
  %b = stablehlo.constant dense<[(3.0, 0.0), (0.0, 4.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.select %p, %a, %b : (tensor<2xi1>, tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %y, dense<[(1.0, 1.0), (0.0, 4.0)]> : tensor<2xcomplex<f32>>
  func.return
}
