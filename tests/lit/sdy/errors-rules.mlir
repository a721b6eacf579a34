// What is refused in sharding rules.
// RUN: cupel opt %s --split-input-file --verify-diagnostics

func.func @f(%arg0: tensor<8x4xf32>) {
  // expected-error @+1 {{factors must be listed in order: expected `j`, got `k`}}
  %0 = func.call @g(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k])->([i, k]) {i=8, k=4}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8x4xf32>) {
  // expected-error @+3 {{expected a factor from `i` to `z`, got `a`}}
  // expected-error @+2 {{failed to parse Sdy_TensorMapping parameter 'dim_mappings'}}
  // expected-error @+1 {{failed to parse Sdy_OpShardingRule parameter 'operand_mappings'}}
  %0 = func.call @g(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([a, j])->([i, j]) {i=8, j=4}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8x4xf32>) {
  // expected-error @+1 {{sharding rule of operand 0: maps 1 dimensions of 'tensor<8x4xf32>'}}
  %0 = func.call @g(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i, j]) {i=8, j=4}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}
func.func private @g(tensor<8x4xf32>) -> tensor<8x4xf32>

// -----

func.func @f(%arg0: tensor<8x4xf32>) {
  // expected-error @+1 {{sharding rule of result 0: factor z_3 has no size}}
  %0 = func.call @g(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, z_3]) {i=8, j=4}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}
func.func private @g(tensor<8x4xf32>) -> tensor<8x4xf32>

// -----

func.func @f(%arg0: tensor<8x4xf32>) {
  // expected-error @+1 {{reduction factor j of the sharding rule appears in a result}}
  %0 = func.call @g(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} reduction={j}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}
func.func private @g(tensor<8x4xf32>) -> tensor<8x4xf32>

// -----

func.func @f(%arg0: tensor<8x4xf32>) {
  // expected-error @+1 {{factor k of the sharding rule is used by no operand and no result}}
  %0 = func.call @g(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4, k=2}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}
func.func private @g(tensor<8x4xf32>) -> tensor<8x4xf32>
