// Between the element types of tensors and those of PJRT buffers, and the form of their elements in
// host memory (which is the same: sub-byte types take a byte each).
#pragma once

#include "cupel/pjrt/Structs.h"
#include "cupel/tensor/Tensor.h"

#include <optional>

namespace cupel::pjrt {

PJRT_Buffer_Type bufferType(tensor::DType type);

/// The tensor type; nothing for types that tensors do not have (tokens, f4, f6, ...) and for
/// numbers that are no type.
std::optional<tensor::DType> dtypeOf(int bufferType);

/// Brings elements into the form tensors hold: booleans 0 or 1, sub-byte integers extended to their
/// byte. A device may leave anything in the spare bits.
void normalizeElements(tensor::DType type, std::span<std::byte> bytes);

} // namespace cupel::pjrt
