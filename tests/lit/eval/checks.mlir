// A program that checks itself passes, or the first check that fails is told.
// RUN: not cupel eval %s 2>&1 | FileCheck %s

// CHECK: checks.mlir:[[#@LINE+5]]:3: check.expect_eq_const: 1 of 2 elements differs; worst at [1]: 2 vs 4
func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.add %a, %a : tensor<2xi32>
  check.expect_eq_const %b, dense<[2, 4]> : tensor<2xi32>
  check.expect_eq_const %a, dense<[1, 4]> : tensor<2xi32>
  func.return
}

// -----

// CHECK: stablehlo.custom_call @check.expect_close: the element is more than 3 ULP of f32 apart
func.func @main() {
  %a = stablehlo.constant dense<1.0> : tensor<f32>
  %b = stablehlo.constant dense<1.000001> : tensor<f32>
  stablehlo.custom_call @check.expect_close(%a, %b) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
  func.return
}

// CHECK: 0 passed, 2 failed
