// Element types of PJRT and of our tensors.

#pragma once

#include "cupel/pjrt/Structs.h"
#include "cupel/tensor/DType.h"

#include <optional>

namespace cupel::pjrt {

PJRT_Buffer_Type bufferType(tensor::DType type);
/// Nothing for types that our tensors lack.
std::optional<tensor::DType> elementType(PJRT_Buffer_Type type);
/// The number of xla.PrimitiveType, which messages have.
int64_t primitiveType(tensor::DType type);

} // namespace cupel::pjrt
