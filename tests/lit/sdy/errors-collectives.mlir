// What the verifiers of collectives refuse.
// RUN: cupel opt %s --split-input-file --verify-diagnostics

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32>) {
  // expected-error @+1 {{needs an operand that has a sharding}}
  %0 = sdy.all_gather [{"a"}, {}] %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}]>}) {
  // expected-error @+1 {{cannot take axis "a" off dimension 0, which is split over {"a", "b"}}}
  %0 = sdy.all_gather [{"a"}, {}] %arg0 out_sharding=<@mesh, [{"b"}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {}]>}) {
  // expected-error @+1 {{out_sharding splits dimension 0 over {"a"}, but it must be {"a", "b":(1)2}}}
  %0 = sdy.all_gather [{"b":(2)2}, {}] %arg0 out_sharding=<@mesh, [{"a"}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32>) {
  // expected-error @+1 {{lists axes for 1 dimensions, but out_sharding has 2}}
  %0 = sdy.all_slice [{"a"}] %arg0 out_sharding=<@mesh, [{"a"}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
  // expected-error @+1 {{reduction axis "a" splits the operand or is replicated in it}}
  %0 = sdy.all_reduce {"a"} %arg0 out_sharding=<@mesh, [{"a"}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) {
  // expected-error @+1 {{dimension 5 is not one of the 2 of its tensor}}
  %0 = sdy.all_to_all [{"a"}: 0->5] %arg0 out_sharding=<@mesh, [{}, {"b", "a"}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) {
  // expected-error @+1 {{dimension 1 is moved from or to twice}}
  %0 = sdy.all_to_all [{"a"}: 0->1, {"b"}: 1->0] %arg0 out_sharding=<@mesh, [{}, {"b", "a"}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
  // expected-error @+1 {{dimension 0 is split over {"a"} before and {"b"} after, which is not the same number of parts}}
  %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"b"}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
  // expected-error @+1 {{the unreduced axes of out_sharding must be {"a"}, got {"b"}}}
  %0 = sdy.sharded_to_unreduced [{"a"}, {}] %arg0 out_sharding=<@mesh, [{}, {}], unreduced={"b"}> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func @f(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
  // expected-error @+1 {{axis "b" is used twice}}
  %0 = sdy.replicated_to_unreduced {"b"} %arg0 out_sharding=<@mesh, [{"a"}, {"b"}], unreduced={"b"}> : tensor<16x8xf32>
  return
}
