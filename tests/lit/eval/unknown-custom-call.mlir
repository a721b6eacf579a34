// Trap: a custom call that is no check is an error that names its target and its place.
// RUN: not cupel eval %s 2>&1 | FileCheck %s

// CHECK: unknown-custom-call.mlir:[[#@LINE+3]]:8: {{.*}}somebody.elses
func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.custom_call @somebody.elses(%a) : (tensor<2xi32>) -> tensor<2xi32>
  func.return
}
