// Options that name files or folders mean what they say where the command was typed: workers of `cupel run` run in folders of their own, and
// what they wrote to a path as it was typed was gone with these.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: cupel run %s --device cpu --results %t/results --option export_path=by_option
// RUN: FileCheck %s --check-prefix=STAGE < by_option/irs/0001-program/shlo.mlir
// RUN: cupel run %s --device "cupel?export_path=by_device" --results %t/results
// RUN: FileCheck %s --check-prefix=STAGE < by_device/irs/0001-program/shlo.mlir
// RUN: env CUPEL_DUMP_DIR=by_environment cupel run %s --device cpu --results %t/results
// RUN: FileCheck %s --check-prefix=STAGE < by_environment/irs/0001-program/shlo.mlir
// RUN: echo '{"default": "bfp_bf8"}' > formats.json
// RUN: cupel run %s --device cpu --results %t/results --option experimental_weight_dtype=formats.json | FileCheck %s --check-prefix=PASS
// RUN: not cupel run %s --device cpu --results %t/results --option experimental_weight_dtype=none.json 2>&1 | FileCheck %s --check-prefix=NONE

// STAGE: stablehlo.tanh
// PASS: 1 test selected
// PASS-SAME: 1 passed
// NONE: none.json
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
