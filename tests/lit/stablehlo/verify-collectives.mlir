// RUN: cupel opt %s --split-input-file --verify-diagnostics

// Groups of processes and collectives.

func.func @f(%a: tensor<4x2xf32>) {
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op dimension 1 of the result must be a multiple of that of the operand, but got 5 and 2}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x2xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op result and operand must agree in all dimensions but 1, but dimension 0 has 5 and 4}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x2xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op result and operand must have the same rank, but got 3 and 2}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x2xf32>) -> tensor<4x4x1xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op operands and results must have compatible element types, but got 'tensor<4x2xf32>' and 'tensor<4x4xf64>'}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x2xf32>) -> tensor<4x4xf64>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op all_gather_dim must name dimensions of the operand, but 2 is outside [0, 2)}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op use_global_device_ids needs a channel_handle with a positive handle}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, use_global_device_ids, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op replica_groups must have rank 2 (groups and their members), but has shape [2]}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op replica_groups must not repeat an id, but repeat 1}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

// Groups of different sizes, as JAX writes them for psum over axis_index_groups.
func.func @f(%a: tensor<4xf32>) {
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%b: tensor<f32>, %c: tensor<f32>):
    %sum = stablehlo.add %b, %c : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2], [3, 4, -1]]> : tensor<2x3xi64>, use_global_device_ids} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op replica_groups must not contain the id -1}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op replica_groups must not repeat an id, but repeat 0}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1000000000000x1000000xi64>} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op replica_groups must not contain the id -2}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<-2> : tensor<1x1xi64>} : (tensor<4x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x2xf32>) {
  // expected-error@+1 {{'stablehlo.all_gather' op requires as many results as operands, but got 2 for 1}}
  %0:2 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x2xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

// expected-error@+1 {{axis "y" is not an axis of the mesh}}
#groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[#stablehlo.mesh_axis<name = "x", size = 4>]>, axes = [#stablehlo.axis_ref<name = "y">]>

// -----

// expected-error@+1 {{sub-axis (1)3 of axis "x" does not divide its size 4}}
#groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[#stablehlo.mesh_axis<name = "x", size = 4>]>, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)3>]>

// -----

// expected-error@+1 {{replica groups name axis "x" twice}}
#groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "x">]>

// -----

// expected-error@+1 {{mesh axis "x" must have a positive size, but has 0}}
#axis = #stablehlo.mesh_axis<name = "x", size = 0>

// -----

func.func @f(%a: tensor<4xf32>) {
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf16>) {
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+2 {{'stablehlo.all_reduce' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf64>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op region 'computation' computes on 'f32', which input #0 of element type 'f64' cannot be promoted to}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.all_reduce' op region 'computation' must take 2 arguments (accumulated and new values), but takes 1}}
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<5xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op dimension 0 of the operand must be a multiple of that of the result, but got 5 and 2}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<5xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf16>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op result must have the element type 'f32' that region 'computation' returns, but is 'tensor<2xf16>'}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf16>) -> tensor<2xf16>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_scatter' op scatter_dimension must name dimensions of the operand, but 1 is outside [0, 1)}}
  %0 = "stablehlo.reduce_scatter"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<?x16xf32, #stablehlo.bounds<3, ?>>) {
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<?x16xf32, #stablehlo.bounds<3, ?>>) -> tensor<12x4xf32>
  return
}

// -----

func.func @f(%a: tensor<?x16xf32, #stablehlo.bounds<3, ?>>) {
  // expected-error@+2 {{'stablehlo.all_to_all' op inferred type(s) 'tensor<?x4xf32, #stablehlo.bounds<12, ?>>' are incompatible with return type(s) of operation 'tensor<13x4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<?x16xf32, #stablehlo.bounds<3, ?>>) -> tensor<13x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x15xf32>) {
  // expected-error@+2 {{'stablehlo.all_to_all' op dimension 1 must be divisible into split_count = 4 parts, but has size 15}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<4x15xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @f(%a: tensor<9223372036854775807x?xf32>) {
  // expected-error@+2 {{'stablehlo.all_to_all' op the size of dimension 0 of the result does not fit in 64 bits}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<9223372036854775807x?xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x16xf32>) {
  // expected-error@+2 {{'stablehlo.all_to_all' op concat_dimension must name dimensions of the operands, but 2 is outside [0, 2)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 2 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x16xf32>) {
  // expected-error@+1 {{'stablehlo.all_to_all' op replica_groups must have 2 members each, but have 4}}
  %0 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op source_target_pairs must not repeat a source, but repeat 0}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op source_target_pairs must not repeat a target, but repeat 1}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op source_target_pairs must not contain negative ids, but contain -1}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op source_target_pairs must have shape [N, 2], but have [1, 3]}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_permute' op source_target_pairs must not repeat a source, but repeat 7}}
  %0 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<7> : tensor<1000000000000x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_broadcast' op operands and results must have compatible types, but got 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %r: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.collective_broadcast' op has_dynamic_root needs a last operand of type tensor<1xi32>, one root per operand, but got 'tensor<2xi32>'}}
  %0 = "stablehlo.collective_broadcast"(%a, %r) {has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.collective_reduce' op result must be compatible with 'tensor<4xf32>', but is 'tensor<5xf32>'}}
  %0 = "stablehlo.collective_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.async_start' op region 'body' must hold one collective or slice op and its return}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %1 = stablehlo.add %x, %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.async_start' op region 'body' must return the types of the future, ('tensor<4xf32>'), but returns ('tensor<2xf32>')}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %1 = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.async_start' op region 'body' must take the types of the operands, ('tensor<4xf32>'), but takes ('tensor<5xf32>')}}
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<5xf32>):
    %1 = stablehlo.slice %x [0:2] : (tensor<5xf32>) -> tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  return
}

// -----

func.func @f(%a: !stablehlo.future<tensor<2xf32>>) {
  // expected-error@+1 {{'stablehlo.async_done' op results must have the types of the future, ('tensor<2xf32>'), but have ('tensor<3xf32>')}}
  %0 = "stablehlo.async_done"(%a) : (!stablehlo.future<tensor<2xf32>>) -> tensor<3xf32>
  return
}
