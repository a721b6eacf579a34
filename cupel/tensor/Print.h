// Tensors as text: the form in which `cupel eval` prints results, and MLIR's `dense<...> : type` on
// one line. Elements are written as MLIR's printer writes them, so that the text reads back
// exactly. Quantized tensors show their stored integers. Must not be used to exchange data (see
// Npy.h).

#pragma once

#include "cupel/tensor/Tensor.h"

#include <string>

namespace cupel::tensor {

/// One stored element: `-5`, `true`, `1.000000e+00`, `0x7FC00000` (what has no decimal form),
/// `[1.000000e+00, 0.000000e+00]` (complex).
std::string elementText(DType type, const void *element);

/// One number for a human: like elementText, but short and with nan and inf spelled out.
std::string shortElementText(DType type, const void *element);

/// `tensor<2x2xi8> {`, one innermost row a line between brackets that indent by two, `}`; a scalar
/// is `tensor<ui8> {1}`.
std::string tensorText(const Tensor &tensor);

/// `dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>`; `dense<7> : ...` where all elements are the same.
std::string denseText(const Tensor &tensor);

} // namespace cupel::tensor
