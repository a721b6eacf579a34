// What the cpu backend makes of a program: the report as lines and as JSON, assembly, what passes print.
// RUN: cupel compile %s --report --report-json %t.json --report-runs 2 -o %t 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// RUN: cupel compile %s --report-json %t.json -o %t
// RUN: not grep seconds %t.json
// RUN: cupel compile %s --emit=shlo | FileCheck %s --check-prefix=SHLO
// RUN: cupel compile %s --emit=asm | FileCheck %s --check-prefix=ASM
// RUN: env CUPEL_ISA=avx1024 cupel compile %s --emit=asm -o %t 2>&1 | FileCheck %s --check-prefix=MASK
// RUN: cupel compile %s --emit=tensor --print-ir-after=form-products,form-maps --print-ir-before=form-rows --timing -o %t 2>&1 | FileCheck %s --check-prefix=PRINT
// RUN: not cupel compile %s --emit=tensor --print-ir-after=form-nothing 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not cupel compile %s --timing 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: cupel opt %s --pass-pipeline='builtin.module(compile-to-tensor)' --mlir-print-ir-after=form-products --mlir-timing -o %t 2>&1 | FileCheck %s --check-prefix=OPT

// TEXT: launches:  3
// TEXT-NEXT: kernels:   1 map, 1 product, 1 reference
// TEXT-NEXT: fallbacks: 1 stablehlo.cholesky
// TEXT-NEXT: fused:     operations inside: 1 map, 1 product
// TEXT-NEXT: arena:     {{[1-9][0-9]*}} bytes
// TEXT-NEXT: constants: 0 bytes
// TEXT-NEXT: flops:     {{[1-9][0-9]*}}, and 64 transcendental functions
// TEXT-NEXT: bytes:     1920 read and written by launches
// TEXT-NEXT: trace:     not recorded: stablehlo.cholesky at {{.*}}compile-report.mlir:[[#]]:8 runs on the golden reference
// TEXT-NEXT: time:      {{[0-9.]+}} ms (the best of 2), {{[0-9.]+}} % of it in 1 runs of fallbacks
// TEXT: the longest launches:
// TEXT-DAG: product tir.product ({{.*}}compile-report.mlir:[[#]]:8), 1 fused
// TEXT-DAG: map tir.map ({{.*}}compile-report.mlir:[[#]]:8), 1 fused

// JSON-DAG: "arena_bytes": {{[1-9]}}
// JSON-DAG: "stablehlo.cholesky": {
// JSON-DAG: "fallback": true
// JSON-DAG: "seconds": 
// JSON-DAG: "stablehlo.subtract"
// JSON-DAG: "result_bytes": 512
// JSON-DAG: "trace": "not recorded: stablehlo.cholesky

// SHLO: stablehlo.dot_general

// MASK: warning: CUPEL_ISA masks nothing: 'avx1024' is no instruction set: avx512, avx2 or baseline

// ASM: # launch 1: tir.product at {{.*}}, kernel product
// ASM: block:
// ASM: # launch 2: stablehlo.cholesky at {{.*}}, kernel reference, without code of its own
// ASM: # launch 3: tir.map at {{.*}}, kernel map
// ASM: stage0:

// PRINT: IR Dump After FormProducts
// PRINT: tir.product
// PRINT: IR Dump Before FormRows
// PRINT: IR Dump After FormMaps
// PRINT: tir.map
// PRINT: Execution time report
// PRINT: FormMaps

// UNKNOWN: there is no pass 'form-nothing' among those of the cpu backend; there are all, {{.*}}form-products{{.*}}fuse-epilogues
// ALONE: --timing goes with --emit=tensor

// OPT: IR Dump After FormProducts
// OPT: Execution time report
func.func @main(%x: tensor<8x6xf32>, %w: tensor<6x8xf32>, %b: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.subtract %b, %0 : tensor<8x8xf32>
  %2 = stablehlo.cholesky %1, lower = true : tensor<8x8xf32>
  %3 = stablehlo.tanh %2 : tensor<8x8xf32>
  return %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>
}
