// Values: by hand. A manual computation over a mesh of one device, and a named one, are their bodies.

module {
  sdy.mesh @mesh = <["x"=1]>
  func.func @main() {
    %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %y = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
      %b = stablehlo.add %a, %a : tensor<2xf32>
      sdy.return %b : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    check.expect_eq_const %y, dense<[2.0, 4.0]> : tensor<2xf32>
    %z = sdy.named_computation<"negated">(%y) (%a: tensor<2xf32>) {
      %b = stablehlo.negate %a : tensor<2xf32>
      sdy.return %b : tensor<2xf32>
    } : (tensor<2xf32>) -> tensor<2xf32>
    check.expect_eq_const %z, dense<[-2.0, -4.0]> : tensor<2xf32>
    func.return
  }
}
