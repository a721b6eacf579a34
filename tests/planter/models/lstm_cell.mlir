// One step of an LSTM: four gates from one product, a cell state and a hidden state.
module @lstm_cell {
  func.func @main(%x: tensor<4x8xf32>, %h: tensor<4x6xf32>, %c: tensor<4x6xf32>, %wx: tensor<8x24xf32>, %wh: tensor<6x24xf32>,
                  %b: tensor<24xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %px = stablehlo.dot_general %x, %wx, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
    %ph = stablehlo.dot_general %h, %wh, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x24xf32>) -> tensor<4x24xf32>
    %p = stablehlo.add %px, %ph : tensor<4x24xf32>
    %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<24xf32>) -> tensor<4x24xf32>
    %gates = stablehlo.add %p, %bias : tensor<4x24xf32>
    %i0 = stablehlo.slice %gates [0:4, 0:6] : (tensor<4x24xf32>) -> tensor<4x6xf32>
    %f0 = stablehlo.slice %gates [0:4, 6:12] : (tensor<4x24xf32>) -> tensor<4x6xf32>
    %g0 = stablehlo.slice %gates [0:4, 12:18] : (tensor<4x24xf32>) -> tensor<4x6xf32>
    %o0 = stablehlo.slice %gates [0:4, 18:24] : (tensor<4x24xf32>) -> tensor<4x6xf32>
    %i = stablehlo.logistic %i0 : tensor<4x6xf32>
    %f = stablehlo.logistic %f0 : tensor<4x6xf32>
    %g = stablehlo.tanh %g0 : tensor<4x6xf32>
    %o = stablehlo.logistic %o0 : tensor<4x6xf32>
    %kept = stablehlo.multiply %f, %c : tensor<4x6xf32>
    %new = stablehlo.multiply %i, %g : tensor<4x6xf32>
    %cell = stablehlo.add %kept, %new : tensor<4x6xf32>
    %shape = stablehlo.tanh %cell : tensor<4x6xf32>
    %hidden = stablehlo.multiply %o, %shape : tensor<4x6xf32>
    return %hidden, %cell : tensor<4x6xf32>, tensor<4x6xf32>
  }
}
