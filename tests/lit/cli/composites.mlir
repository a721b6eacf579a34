// Composites that nobody knows by name are put in line, and named: in the report, as text and as JSON, and in a run's record.
// RUN: cupel compile %s --report --report-json %t.json -o %t 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// RUN: cupel run %s --device cupel --results %t.results --json %t.run
// RUN: FileCheck %s --check-prefix=RECORD --input-file=%t.run

// CHECK: composites: 2 my.double (unknown, inlined), 1 tenstorrent.gelu
// JSON: "composites": [
// JSON: "known": false,
// JSON-NEXT: "name": "my.double"
// JSON: "known": true,
// JSON-NEXT: "name": "tenstorrent.gelu"
// RECORD: "composites":"2 my.double (unknown, inlined), 1 tenstorrent.gelu"
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "my.double" %x {decomposition = @double} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "tenstorrent.gelu" %0 {decomposition = @gelu} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.composite "my.double" %1 {decomposition = @double} : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
