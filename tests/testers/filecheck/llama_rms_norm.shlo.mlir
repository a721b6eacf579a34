// What the plugin reads: one composite, and the norm only in its decomposition.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.rsqrt
// CHECK: stablehlo.composite "tenstorrent.rms_norm"
// CHECK-NOT: stablehlo.rsqrt
// CHECK: return
// CHECK: stablehlo.rsqrt
