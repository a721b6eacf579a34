// What a data-parallel step does between four processes: gather, reduce, scatter, permute.
module @collectives attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%gradient: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x16xf32>, tensor<8x4xf32>, tensor<2x16xf32>, tensor<ui32>) {
    %sum = "stablehlo.all_reduce"(%gradient) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %add = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %add : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %part = "stablehlo.reduce_scatter"(%gradient) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %add = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %add : tensor<f32>
    }) : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %all = "stablehlo.all_gather"(%gradient) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x4xf32>) -> tensor<8x16xf32>
    %shifted = "stablehlo.collective_permute"(%gradient) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %exchanged = "stablehlo.all_to_all"(%gradient) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<8x4xf32>) -> tensor<2x16xf32>
    %me = stablehlo.replica_id : tensor<ui32>
    return %sum, %part, %all, %shifted, %exchanged, %me : tensor<8x4xf32>, tensor<2x4xf32>, tensor<8x16xf32>, tensor<8x4xf32>, tensor<2x16xf32>, tensor<ui32>
  }
}
