// Trap: a quantized dot_general whose right and result zero points are 0 runs in i32 with one combined scale and truncates:
// 3 * 1 * (0.5 * 0.5 / 0.5) = 1.5 is stored as 1, not 2.

func.func @main() {
  %a = stablehlo.constant() {value = dense<[[3]]> : tensor<1x1xi8>} : () -> tensor<1x1x!quant.uniform<i8:f32, 0.5>>
  %b = stablehlo.constant() {value = dense<[[1]]> : tensor<1x1xi8>} : () -> tensor<1x1x!quant.uniform<i8<-127:127>:f32, 0.5>>
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x1x!quant.uniform<i8:f32, 0.5>>, tensor<1x1x!quant.uniform<i8<-127:127>:f32, 0.5>>) -> tensor<1x1x!quant.uniform<i32:f32, 0.5>>
  %y = stablehlo.bitcast_convert %c : (tensor<1x1x!quant.uniform<i32:f32, 0.5>>) -> tensor<1x1xi32>
  check.expect_eq_const %y, dense<[[1]]> : tensor<1x1xi32>
  func.return
}
