// Values: by hand. Matched by the channel; between replicas.

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = "interpreter.run_parallel"(%x) {programs = [[@sender], [@receiver]]} : (tensor<2xi32>) -> tensor<2xi32>
  check.expect_eq_const %y, dense<[-1, -2]> : tensor<2xi32>
  func.return
}
func.func @sender(%x: tensor<2xi32>) {
  %t = stablehlo.create_token : !stablehlo.token
  %t1 = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 7, type = 1>, is_host_transfer = false} : (tensor<2xi32>, !stablehlo.token) -> !stablehlo.token
  return
}
func.func @receiver() -> tensor<2xi32> {
  %t = stablehlo.create_token : !stablehlo.token
  %y, %t1 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 7, type = 1>, is_host_transfer = false} : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  %z = stablehlo.negate %y : tensor<2xi32>
  return %z : tensor<2xi32>
}
