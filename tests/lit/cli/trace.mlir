// A program's commands: recorded into a file, shown, replayed; what cannot be recorded; a region that is too small.
// RUN: cupel compile %s --trace %t.trace -o %t
// RUN: cupel show trace %t.trace | FileCheck %s
// RUN: cupel show trace %t.trace --json | FileCheck %s --check-prefix=JSON
// RUN: cupel show trace %t.trace --replay 5 | FileCheck %s --check-prefix=REPLAY
// RUN: cupel compile %s --report -o %t 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: not cupel compile %s --trace %t.trace --option trace_region_size=10 -o %t 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not cupel compile %S/compile-report.mlir --trace %t.other -o %t 2>&1 | FileCheck %s --check-prefix=FALLBACK
// RUN: not cupel show trace %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: head -c 300 %t.trace > %t.cut
// RUN: not cupel show trace %t.cut 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: cupel bench %s --option enable_trace=true --seconds 0.05 --rounds 1 2>&1 | FileCheck %s --check-prefix=BENCH

// CHECK: Trace of {{.*}}: 2 commands of {{[0-9]+}} bytes, an arena of {{[0-9]+}} bytes
// CHECK: argument 0 {{ *}}f32[8x6] {{.*}}192 bytes, in 1 place
// CHECK: argument 1
// CHECK: result 0 {{ *}}f32[8x8] {{.*}}256 bytes, in 1 place
// CHECK: Commands:
// CHECK-NEXT: 1 kernel product tir.product arena+{{[0-9]+}} <- argument 0, argument 1 at {{.*}}trace.mlir:[[#]]:8
// CHECK-NEXT: 2 {{code|steps}} row tir.row result 0 <- arena+{{[0-9]+}} at {{.*}}trace.mlir:[[#]]:8

// JSON: "command_bytes": {{[0-9]+}},
// JSON: "seed": 0,
// JSON: "slot": "argument",

// REPLAY: Replayed 5 times, recorded 1 times; a replay takes {{[0-9.]+}} us (median). Results are the bits of a run without a trace and of the file.

// REPORT: trace:     recorded at the second run: 2 commands, {{[0-9]+}} bytes

// SMALL: the trace of {{.*}} needs {{[0-9]+}} bytes and the trace region has 10; set trace_region_size (TT_RUNTIME_TRACE_REGION_SIZE) to at least {{[0-9]+}}
// FALLBACK: not recorded: stablehlo.cholesky at {{.*}} runs on the golden reference
// NONE: it is no trace of this version
// CUT: the trace is damaged
// BENCH: enable_trace=true
func.func @main(%x: tensor<8x6xf32>, %w: tensor<6x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.divide %0, %2 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
