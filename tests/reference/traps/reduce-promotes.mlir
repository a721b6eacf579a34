// Trap: the function of a reduction may work on a wider type than the input: i8 summed in i32 does not wrap.

func.func @main() {
  %x = stablehlo.constant dense<[100, 100, 100]> : tensor<3xi8>
  %init = stablehlo.constant dense<0> : tensor<i8>
  %y = stablehlo.reduce(%x init: %init) across dimensions = [0] : (tensor<3xi8>, tensor<i8>) -> tensor<i32>
    reducer(%a: tensor<i32>, %b: tensor<i32>) {
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }
  check.expect_eq_const %y, dense<300> : tensor<i32>
  func.return
}
