// RUN: cupel opt %s --split-input-file --verify-diagnostics

// Feeds, channels and ids of processes.

func.func @f() {
  // expected-error@+1 {{'stablehlo.replica_id' op result #0 must be 0D tensor of 32-bit unsigned integer values, but got 'tensor<i32>'}}
  %0 = "stablehlo.replica_id"() : () -> tensor<i32>
  return
}

// -----

func.func @f(%a: tensor<f32>, %t: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.send' op channel type must be 1 where is_host_transfer is false, but is 3}}
  %0 = "stablehlo.send"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @f(%a: tensor<f32>, %t: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.send' op channel type must be 2 where is_host_transfer is true, but is 1}}
  %0 = "stablehlo.send"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = true} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @f(%a: tensor<f32>, %t: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.send' op source_target_pairs must not repeat a source, but repeat 0}}
  %0 = "stablehlo.send"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.recv' op channel type must be 3 where is_host_transfer is true, but is 2}}
  %0:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  return
}

// -----

func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.recv' op the last result must be a token, but results are ('tensor<f32>')}}
  %0 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (!stablehlo.token) -> tensor<f32>
  return
}

// -----

func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.infeed' op the last result must be a token, but results are ()}}
  "stablehlo.infeed"(%t) : (!stablehlo.token) -> ()
  return
}

// -----

func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.infeed' op all results but the last must be tensors, but results are ('!stablehlo.token', '!stablehlo.token')}}
  %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}

// -----

func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.infeed' op layout must have one entry per tensor, but has 0 for 1}}
  %0:2 = "stablehlo.infeed"(%t) {layout = []} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}

// -----

func.func @f(%t: !stablehlo.token) {
  // expected-error@+1 {{'stablehlo.infeed' op layout must consist of arrays of integers, but contains}}
  %0:2 = "stablehlo.infeed"(%t) {layout = [["x"]]} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return
}
