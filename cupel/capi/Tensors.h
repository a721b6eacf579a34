// Tensors of the C API as those of the rest.
#pragma once

#include "cupel/capi/Api.h"
#include "cupel/tensor/Tensor.h"

namespace cupel::capi {

/// On the caller's memory, which must stay as long as the tensor.
inline Result<tensor::Tensor> borrowed(const CupelTensor &given) {
  std::optional<tensor::DType> type = tensor::parseDType(given.type);
  if (!type)
    return Error{std::string("there is no element type '") + given.type + "'"};
  return tensor::Tensor::borrow(*type, tensor::Shape(given.shape, given.shape + given.rank),
                                {static_cast<const std::byte *>(given.data), size_t(given.bytes)});
}

} // namespace cupel::capi
