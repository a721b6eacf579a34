// A system of equations by its Cholesky factor, batched products, random numbers, and what is written in place.
module @algebra {
  func.func @main(%a: tensor<3x5x5xf32>, %b: tensor<3x5x2xf32> {tf.aliasing_output = 0 : i32}, %key: tensor<2xui64>) -> (tensor<3x5x2xf32>, tensor<2xui64>, tensor<3x7xf32>, tensor<5x5xf32>) {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %row = stablehlo.iota dim = 0 : tensor<5x5xi32>
    %column = stablehlo.iota dim = 1 : tensor<5x5xi32>
    %isDiagonal = stablehlo.compare EQ, %row, %column, SIGNED : (tensor<5x5xi32>, tensor<5x5xi32>) -> tensor<5x5xi1>
    %one = stablehlo.convert %isDiagonal : (tensor<5x5xi1>) -> tensor<5x5xf32>
    %eye = stablehlo.broadcast_in_dim %one, dims = [1, 2] : (tensor<5x5xf32>) -> tensor<3x5x5xf32>
    %square = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x5x5xf32>, tensor<3x5x5xf32>) -> tensor<3x5x5xf32>
    %positive = stablehlo.add %square, %eye : tensor<3x5x5xf32>
    %factor = stablehlo.cholesky %positive, lower = true : tensor<3x5x5xf32>
    %solved = "stablehlo.triangular_solve"(%factor, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x5x5xf32>, tensor<3x5x2xf32>) -> tensor<3x5x2xf32>
    %next, %bits = stablehlo.rng_bit_generator %key, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x7xui32>)
    %eight = stablehlo.constant dense<9> : tensor<3x7xui32>
    %short = stablehlo.shift_right_logical %bits, %eight : tensor<3x7xui32>
    %exponent = stablehlo.constant dense<1065353216> : tensor<3x7xui32>
    %pattern = stablehlo.or %short, %exponent : tensor<3x7xui32>
    %uniform = stablehlo.bitcast_convert %pattern : (tensor<3x7xui32>) -> tensor<3x7xf32>
    %mean = stablehlo.reduce(%positive init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x5x5xf32>, tensor<f32>) -> tensor<5x5xf32>
    %turned = stablehlo.transpose %mean, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
    %masked = stablehlo.select %isDiagonal, %turned, %mean : tensor<5x5xi1>, tensor<5x5xf32>
    return %solved, %next, %uniform, %masked : tensor<3x5x2xf32>, tensor<2xui64>, tensor<3x7xf32>, tensor<5x5xf32>
  }
}
