// A probe hands its operand on and writes it; the check reads back what was written; print tells the value.
// RUN: rm -rf %t && mkdir %t
// RUN: cupel eval %s --probes %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=INDEX < %t/index.csv
// RUN: not cupel eval %s 2>&1 | FileCheck %s --check-prefix=FOLDER

// CHECK: tensor<2xi32>
// CHECK: 1 passed, 0 failed
// INDEX: doubled,tensor<2xi32>,{{.*}}probe1.npy
// FOLDER: a folder for probes is needed (--probes DIR)
func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.add %a, %a : tensor<2xi32>
  %c = interpreter.probe %b, probe_id = "doubled" : tensor<2xi32>
  interpreter.print %c : tensor<2xi32>
  check.expect_eq_const %c, dense<[2, 4]> : tensor<2xi32>
  check.expect_serialized_eq %c, probe_id = "doubled" : tensor<2xi32>
  func.return
}
