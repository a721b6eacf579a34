// Fusions of users: patterns of PDLL, each counted, switched off by name and verified; the same from compile, run and bench.
// RUN: cupel compile %s --fusions %S/Inputs/fusions.pdll --emit=tensor --report --report-json %t.json -o %t 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: FileCheck %s --input-file=%t
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// RUN: cupel compile %s --fusions %S/Inputs/fusions.pdll --option without_fusion_patterns=twice,never --report -o %t 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: not cupel compile %s --fusions %S/Inputs/fusions.pdll --option without_fusion_patterns=thrice --report -o %t 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not cupel compile %s --fusions %S/Inputs/fusions-wrong-type.pdll --report -o %t 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not cupel compile %s --fusions %S/Inputs/fusions-without-end.pdll --report -o %t 2>&1 | FileCheck %s --check-prefix=END
// RUN: not cupel compile %s --fusions %s.none --report -o %t 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: echo "Pattern { this is none }" > %t.pdll
// RUN: not cupel compile %s --fusions %t.pdll --report -o %t 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: cupel compile %s --fusions %S/Inputs/fusions.pdll --opt-bisect-limit 1 --report -o %t 2>&1 | FileCheck %s --check-prefix=BISECT
// RUN: mlir-pdll-19 -x=mlir %S/Inputs/fusions.pdll > %t.pdl.mlir
// RUN: cupel compile %s --fusions %t.pdl.mlir --report -o %t 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: cupel run %s --device cupel --fusions %S/Inputs/fusions.pdll --results %t.results --json %t.run
// RUN: FileCheck %s --check-prefix=RECORD --input-file=%t.run
// RUN: cupel bench %s --fusions %S/Inputs/fusions.pdll --seconds 0.05 --rounds 1 | FileCheck %s --check-prefix=BENCH

// REPORT: fusions:   double_negation 2, twice 1, never 0
// CHECK-NOT: stablehlo.negate
// CHECK-NOT: stablehlo.multiply
// CHECK: stablehlo.add
// JSON: "fusions": [
// JSON: "count": 2,
// JSON-NEXT: "name": "double_negation",
// JSON-NEXT: "off": false
// OFF: fusions:   double_negation 2, twice off, never off
// UNKNOWN: there is no fusion 'thrice' to be left out
// TYPE: what the fusion wrong_type makes is no program: {{.+}}
// END: the fusion swap finds something to do in what it made, without end
// NONE: there is no such file
// SYNTAX: is no file of patterns
// BISECT: fusions:   double_negation 1, twice 0, never 0
// RECORD: "fusions":"double_negation 2, twice 1, never 0"
// BENCH: fusion_patterns=
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  %3 = stablehlo.negate %2 : tensor<4xf32>
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %4 = stablehlo.multiply %3, %two : tensor<4xf32>
  %5 = stablehlo.add %4, %x : tensor<4xf32>
  return %4, %5 : tensor<4xf32>, tensor<4xf32>
}
