// Trap: while evaluates its condition before the first iteration too, so that a body may never run.

func.func @main() {
  %x = stablehlo.constant dense<7> : tensor<i32>
  %y = stablehlo.while(%i = %x) : tensor<i32>
    cond {
      %never = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %never : tensor<i1>
    } do {
      %next = stablehlo.add %i, %i : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
  check.expect_eq_const %y, dense<7> : tensor<i32>
  func.return
}
