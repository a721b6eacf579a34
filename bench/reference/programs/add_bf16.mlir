func.func @main(%a: tensor<1000000xbf16>, %b: tensor<1000000xbf16>) -> tensor<1000000xbf16> {
  %0 = stablehlo.add %a, %b : tensor<1000000xbf16>
  return %0 : tensor<1000000xbf16>
}
