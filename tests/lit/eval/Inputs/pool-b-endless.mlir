func.func @main() {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %r = stablehlo.while(%a = %true) : tensor<i1>
  cond {
    stablehlo.return %a : tensor<i1>
  } do {
    stablehlo.return %a : tensor<i1>
  }
  func.return
}
