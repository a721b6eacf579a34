// Values: by hand. A tuple in a tuple.

func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<1.5> : tensor<f64>
  %inner = stablehlo.tuple %b, %a : tuple<tensor<f64>, tensor<2xi32>>
  %outer = stablehlo.tuple %a, %inner : tuple<tensor<2xi32>, tuple<tensor<f64>, tensor<2xi32>>>
  %back = stablehlo.get_tuple_element %outer[1] : (tuple<tensor<2xi32>, tuple<tensor<f64>, tensor<2xi32>>>) -> tuple<tensor<f64>, tensor<2xi32>>
  %x = stablehlo.get_tuple_element %back[0] : (tuple<tensor<f64>, tensor<2xi32>>) -> tensor<f64>
  %y = stablehlo.get_tuple_element %back[1] : (tuple<tensor<f64>, tensor<2xi32>>) -> tensor<2xi32>
  check.expect_eq_const %x, dense<1.5> : tensor<f64>
  check.expect_eq_const %y, dense<[1, 2]> : tensor<2xi32>
  func.return
}
