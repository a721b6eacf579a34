// RUN: cupel opt %s --split-input-file --verify-diagnostics

// Decompositions, transforms, normalization, random numbers.

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.cholesky' op operand 'a' must have rank 2 or more, but is 'tensor<2xf32>'}}
  %0 = stablehlo.cholesky %a : tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<1x2x3xf32>) {
  // expected-error@+1 {{'stablehlo.cholesky' op the last two dimensions of operand 'a' must have the same size, but got 'tensor<1x2x3xf32>'}}
  %0 = stablehlo.cholesky %a, lower = true : tensor<1x2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<?x4x4xf32>, %b: tensor<2x4x3xf32>) {
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<?x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %b: tensor<3x4xf32>) {
  // expected-error@+2 {{'stablehlo.triangular_solve' op dimension 0 of operand 'b' must have the size of the matrices in 'a', but got 3 for 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) {
  // expected-error@+2 {{'stablehlo.triangular_solve' op dimension 1 of operand 'b' must have the size of the matrices in 'a', but got 3 for 4}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %b: tensor<1x4x3xf32>) {
  // expected-error@+2 {{'stablehlo.triangular_solve' op operands must have the same rank, but got 'tensor<4x4xf32>' and 'tensor<1x4x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4x4xf32>, %b: tensor<1x4x3xf32>) {
  // expected-error@+2 {{'stablehlo.triangular_solve' op operands must agree in batch dimension 0, but got 'tensor<2x4x4xf32>' and 'tensor<1x4x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x4x4xf32>, tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) {
  // expected-error@+2 {{'stablehlo.triangular_solve' op transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%a: tensor<4x4xf32>, %b: tensor<4x3xf32>) {
  // expected-error@+2 {{'stablehlo.triangular_solve' op inferred type(s) 'tensor<4x3xf32>' are incompatible with return type(s) of operation 'tensor<4x4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%a: tensor<3x9xcomplex<f32>>) {
  %0 = stablehlo.fft %a, type = IRFFT, length = [16] : (tensor<3x9xcomplex<f32>>) -> tensor<3x16xf32>
  return
}

// -----

func.func @f(%a: tensor<?x?xf32, #stablehlo.bounds<?, 16>>) {
  %0 = stablehlo.fft %a, type = RFFT, length = [16] : (tensor<?x?xf32, #stablehlo.bounds<?, 16>>) -> tensor<3x9xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<3x9xcomplex<f32>>) {
  // expected-error@+2 {{'stablehlo.fft' op fft_length must have 1 to 3 entries and no more than the operand has dimensions, but got [] for rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %a, type = FFT, length = [] : (tensor<3x9xcomplex<f32>>) -> tensor<3x9xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<9xcomplex<f32>>) {
  // expected-error@+2 {{'stablehlo.fft' op fft_length must have 1 to 3 entries and no more than the operand has dimensions, but got [9, 9] for rank 1}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %a, type = FFT, length = [9, 9] : (tensor<9xcomplex<f32>>) -> tensor<9xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<9xcomplex<f32>>) {
  // expected-error@+2 {{'stablehlo.fft' op fft_length must not be negative, but got [-9]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %a, type = FFT, length = [-9] : (tensor<9xcomplex<f32>>) -> tensor<9xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<9xf32>) {
  // expected-error@+2 {{'stablehlo.fft' op FFT takes complex elements, but got 'f32'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %a, type = FFT, length = [9] : (tensor<9xf32>) -> tensor<9xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<9xcomplex<f32>>) {
  // expected-error@+2 {{'stablehlo.fft' op RFFT takes real elements, but got 'complex<f32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %a, type = RFFT, length = [9] : (tensor<9xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<9xf16>) {
  // expected-error@+2 {{'stablehlo.fft' op RFFT takes elements of type f32 or f64, but got 'f16'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %a, type = RFFT, length = [9] : (tensor<9xf16>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<9xf32>) {
  // expected-error@+2 {{'stablehlo.fft' op dimension 0 of the operand must have size 8 for fft_length [8], but has 9}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<9xf32>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<8xcomplex<f32>>) {
  // expected-error@+2 {{'stablehlo.fft' op dimension 0 of the operand must have size 9 for fft_length [16], but has 8}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %a, type = IRFFT, length = [16] : (tensor<8xcomplex<f32>>) -> tensor<16xf32>
  return
}

// -----

func.func @f(%a: tensor<16xf32>) {
  // expected-error@+2 {{'stablehlo.fft' op inferred type(s) 'tensor<9xcomplex<f32>>' are incompatible with return type(s) of operation 'tensor<8xcomplex<f32>>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = stablehlo.fft %a, type = RFFT, length = [16] : (tensor<16xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<2x2x2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) {epsilon = 0.001 : f32, feature_index = 3 : i64} : (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x2x2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) {epsilon = 0.001 : f32, feature_index = 3 : i64} : (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x2x2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2x2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x2x2x3xf32>) {
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) {epsilon = 0.001 : f32, feature_index = 3 : i64} : (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x2x2x3xf32>) -> (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x2x2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  // expected-error@+2 {{'stablehlo.batch_norm_training' op feature_index must name dimensions of the operand, but 4 is outside [0, 4)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) {epsilon = 0.001 : f32, feature_index = 4 : i64} : (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x2x2x3xf32>, %b: tensor<3xf32>, %c: tensor<2xf32>) {
  // expected-error@+2 {{'stablehlo.batch_norm_training' op vectors must have the size of feature dimension 3 of the operand, but got 2 for 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) {epsilon = 0.001 : f32, feature_index = 3 : i64} : (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x2x2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf64>) {
  // expected-error@+2 {{'stablehlo.batch_norm_inference' op all operands must have one element type, but got 'tensor<2x2x2x3xf32>' and 'tensor<3xf64>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) {epsilon = 0.001 : f32, feature_index = 3 : i64} : (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf64>) -> tensor<2x2x2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2x2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x2x1x3xf32>) {
  // expected-error@+2 {{'stablehlo.batch_norm_grad' op operand and grad_output must have compatible types, but got 'tensor<2x2x2x3xf32>' and 'tensor<2x2x1x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) {epsilon = 0.001 : f32, feature_index = 3 : i64} : (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x2x1x3xf32>) -> (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x2x2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x2x2x3xf32>) {
  // expected-error@+2 {{'stablehlo.batch_norm_grad' op inferred type(s) 'tensor<2x2x2x3xf32>', 'tensor<3xf32>', 'tensor<3xf32>' are incompatible with return type(s) of operation 'tensor<2x2x2x3xf32>', 'tensor<3xf32>', 'tensor<4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) {epsilon = 0.001 : f32, feature_index = 3 : i64} : (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x2x2x3xf32>) -> (tensor<2x2x2x3xf32>, tensor<3xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%a: tensor<f32>, %b: tensor<f64>, %s: tensor<1xi64>) {
  // expected-error@+1 {{'stablehlo.rng' op a, b and the result must have one element type, but got 'f64' and 'f32'}}
  %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<i32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{'stablehlo.rng' op distribution NORMAL needs float elements, but got 'i32'}}
  %0 = stablehlo.rng %a, %a, %s, distribution = NORMAL : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
  return
}

// -----

func.func @f(%a: tensor<f32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{'stablehlo.rng' op shape must have one entry per dimension of the result, but got 2 entries for rank 1}}
  %0 = stablehlo.rng %a, %a, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%s: tensor<2xui64>) {
  // expected-error@+1 {{'stablehlo.rng_bit_generator' op initial_state and output_state must have the same type, but got 'tensor<2xui64>' and 'tensor<3xui64>'}}
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return
}

// -----

func.func @f(%s: tensor<3xui64>) {
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  // expected-error@+1 {{'stablehlo.rng_bit_generator' op the state of THREE_FRY must have 128 bits, but is 'tensor<3xui64>'}}
  %2, %3 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return
}
