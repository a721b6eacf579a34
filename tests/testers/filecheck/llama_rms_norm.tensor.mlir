// One row operation, which has a name.
// CHECK: tir.fusions = {rms_norm = 1 : i64}
// CHECK: = tir.row
// CHECK: stablehlo.rsqrt
// CHECK-NOT: = tir.
// CHECK: return
