// What the verifiers refuse.
// RUN: cupel opt %s --split-input-file --verify-diagnostics

func.func @f(%arg0: tensor<2xi32>, %arg1: tensor<3xi32>) {
  // expected-error @+1 {{requires all operands to have the same type}}
  "check.expect_eq"(%arg0, %arg1) : (tensor<2xi32>, tensor<3xi32>) -> ()
  return
}

// -----

func.func @f(%arg0: tensor<2xi32>) {
  // expected-error @+1 {{failed to verify that all of {value, lhs} have same type}}
  "check.expect_eq_const"(%arg0) <{value = dense<1> : tensor<3xi32>}> : (tensor<2xi32>) -> ()
  return
}

// -----

// expected-note @+1 {{prior use here}}
func.func @f(%arg0: tensor<2xi32>) {
  // expected-error @+1 {{expects different type than prior uses: 'tensor<3xi32>' vs 'tensor<2xi32>'}}
  check.expect_eq_const %arg0, dense<1> : tensor<3xi32>
  return
}

// -----

func.func @f(%arg0: tensor<f32>) {
  // expected-error @+1 {{can never hold: min_ulp_difference 4 is above max_ulp_difference 3}}
  check.expect_close %arg0, %arg0, max_ulp_difference = 3, min_ulp_difference = 4 : tensor<f32>, tensor<f32>
  return
}

// -----

func.func @f(%arg0: tensor<f32>) {
  // expected-error @+1 {{expected 'max_ulp_difference'}}
  check.expect_close %arg0, %arg0, ulp = 3 : tensor<f32>, tensor<f32>
  return
}
