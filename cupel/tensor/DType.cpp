#include "cupel/tensor/DType.h"

namespace cupel::tensor {

std::optional<DType> parseDType(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypes[i].name == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace cupel::tensor
