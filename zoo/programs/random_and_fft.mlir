// Random bits turned into uniform numbers, and their spectrum.
module @random_and_fft {
  func.func @main(%state: tensor<2xui64>) -> (tensor<2xui64>, tensor<16xf32>, tensor<9xcomplex<f32>>) {
    %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<16xui32>)
    %nine = stablehlo.constant dense<9> : tensor<16xui32>
    %exponent = stablehlo.constant dense<1065353216> : tensor<16xui32>
    %one = stablehlo.constant dense<1.000000e+00> : tensor<16xf32>
    %mantissa = stablehlo.shift_right_logical %bits, %nine : tensor<16xui32>
    %pattern = stablehlo.or %mantissa, %exponent : tensor<16xui32>
    %float = stablehlo.bitcast_convert %pattern : (tensor<16xui32>) -> tensor<16xf32>
    %uniform = stablehlo.subtract %float, %one : tensor<16xf32>
    %spectrum = stablehlo.fft %uniform, type = RFFT, length = [16] : (tensor<16xf32>) -> tensor<9xcomplex<f32>>
    return %next, %uniform, %spectrum : tensor<2xui64>, tensor<16xf32>, tensor<9xcomplex<f32>>
  }
}
