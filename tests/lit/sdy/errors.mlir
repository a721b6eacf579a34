// What the verifiers and parsers refuse, and what they say.
// RUN: cupel opt %s --split-input-file --verify-diagnostics

// expected-error @+2 {{the size of mesh axis "a" must be at least 1, got 0}}
// expected-error @+1 {{failed to parse Sdy_Mesh parameter 'axes'}}
sdy.mesh @mesh = <["a"=0]>

// -----

// expected-error @+1 {{mesh axis "a" is given twice}}
sdy.mesh @mesh = <["a"=2, "a"=2]>

// -----

// expected-error @+1 {{the number of devices of the mesh does not fit 64 bits}}
sdy.mesh @mesh = <["a"=4294967296, "b"=4294967296]>

// -----

// expected-error @+1 {{the axes make 4 devices, but 3 device ids are given}}
sdy.mesh @mesh = <["a"=2, "b"=2], device_ids=[0, 1, 2]>

// -----

// expected-error @+1 {{device ids must be 0 to 1, each once, but device id 2 is beyond}}
sdy.mesh @mesh = <["a"=2], device_ids=[2, 0]>

// -----

// expected-error @+1 {{device ids must be 0 to 1, each once, but device id 1 is given twice}}
sdy.mesh @mesh = <["a"=2], device_ids=[1, 1]>

// -----

// expected-error @+1 {{device ids that are 0, 1, 2... must be left out}}
sdy.mesh @mesh = <["a"=2], device_ids=[0, 1]>

// -----

// expected-error @+1 {{a mesh without axes can name one device at most, got 2}}
sdy.mesh @mesh = <[], device_ids=[0, 1]>

// -----

sdy.mesh @mesh = <["a"=2]>
// expected-error @+1 {{argument 0: there is no mesh @other in the module}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{"a"}]>})

// -----

sdy.mesh @mesh = <["a"=2]>
// expected-error @+1 {{argument 0: the mesh has no axis "b"; it is #sdy.mesh<["a"=2]>}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>})

// -----

sdy.mesh @mesh = <["a"=2]>
// expected-error @+1 {{argument 0: the sharding has 2 dimensions, but 'tensor<8xf32>' has 1}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>})

// -----

sdy.mesh @mesh = <["a"=2]>
// expected-error @+1 {{result 0: axis "a" is used twice}}
func.func private @f() -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"a"}]>})

// -----

sdy.mesh @mesh = <["a"=8]>
// expected-error @+1 {{axes "a":(1)4 and "a":(2)4 overlap}}
func.func private @f(tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)4}, {"a":(2)4}]>})

// -----

sdy.mesh @mesh = <["a"=8]>
// expected-error @+1 {{axes "a" and "a":(2)4 overlap}}
func.func private @f(tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"a":(2)4}]>})

// -----

sdy.mesh @mesh = <["a"=8]>
// expected-error @+1 {{sub-axes "a":(1)2 and "a":(2)2 must be written as one}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)2, "a":(2)2}]>})

// -----

sdy.mesh @mesh = <["a"=8]>
// expected-error @+1 {{sub-axis "a":(2)3 does not fit its axis: 2 * 3 does not divide the size 8}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(2)3}]>})

// -----

sdy.mesh @mesh = <["a"=8]>
// expected-error @+1 {{sub-axis "a":(1)8 is all of its axis and must be written as "a"}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(1)8}]>})

// -----

sdy.mesh @mesh = <["a"=8]>
// expected-error @+1 {{the pre-size of sub-axis "a":(0)2 must be at least 1}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(0)2}]>})

// -----

sdy.mesh @mesh = <["a"=8]>
// expected-error @+3 {{the sub-axis (4294967296)4294967296 does not fit 64 bits}}
// expected-error @+2 {{failed to parse Sdy_AxisRef parameter 'sub_axis_info'}}
// expected-error @+1 {{failed to parse Sdy_TensorSharding parameter 'dim_shardings'}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a":(4294967296)4294967296}]>})

// -----

sdy.mesh @mesh = <["a"=2, "b"=2]>
// expected-error @+1 {{replicated axes {"b", "a"} must be in the order of the mesh}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={"b", "a"}>})

// -----

sdy.mesh @mesh = <["a"=2]>
// expected-error @+1 {{dimension 0 has a priority, but no axes and is closed to them}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}p1]>})

// -----

sdy.mesh @mesh = <["a"=2]>
// expected-error @+2 {{expected a priority such as `p1`, got `q1`}}
// expected-error @+1 {{failed to parse Sdy_TensorSharding parameter 'dim_shardings'}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}q1]>})

// -----

sdy.mesh @mesh = <["a"=2]>
// expected-error @+2 {{a priority must not have leading zeros, got `p01`}}
// expected-error @+1 {{failed to parse Sdy_TensorSharding parameter 'dim_shardings'}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}p01]>})

// -----

sdy.mesh @mesh = <["a"=2]>
// expected-error @+1 {{expected `replicated={...}` or `unreduced={...}`, each at most once}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], open={"a"}>})

// -----

// expected-error @+1 {{expected a mesh: its name such as `@mesh`, or `mesh<[...]>`}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<[{}]>})

// -----

// expected-error @+1 {{argument 0: sdy.sharding must be a #sdy.sharding, got "x"}}
func.func private @f(tensor<8xf32> {sdy.sharding = "x"})

// -----

sdy.mesh @one = <[], device_ids=[3]>
// expected-error @+1 {{a sharding for a single device has neither dimensions nor axes}}
func.func private @f(tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, [{}]>})

// -----

sdy.mesh @mesh = <["a"=2]>
// expected-error @+1 {{only a tensor with a rank can have a sharding}}
func.func private @f(tensor<*xf32> {sdy.sharding = #sdy.sharding<@mesh, []>})

// -----

sdy.mesh @mesh = <["a"=2]>
func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{has 1 results, but 2 shardings for them}}
  %0 = func.call @g(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}
func.func private @g(tensor<8xf32>) -> tensor<8xf32>

// -----

sdy.mesh @mesh = <["a"=2]>
func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{sdy.sharding must be a #sdy.sharding_per_value, got #sdy.sharding<@mesh, [{}]>}}
  %0 = func.call @g(%arg0) {sdy.sharding = #sdy.sharding<@mesh, [{}]>} : (tensor<8xf32>) -> tensor<8xf32>
  return
}
func.func private @g(tensor<8xf32>) -> tensor<8xf32>

// -----

sdy.mesh @mesh = <["a"=2]>
func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{'sdy.sharding_constraint' op the mesh has no axis "z"}}
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"z"}]> : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @+1 {{must not allow BOTH directions}}
  %0 = sdy.propagation_barrier %arg0 allowed_direction=BOTH : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{must be the only use of its input}}
  %0 = sdy.data_flow_edge %arg0 : tensor<8xf32>
  return %arg0 : tensor<8xf32>
}
