#include "cupel/runtime/Executable.h"

#include <algorithm>

namespace cupel::runtime {

bool ValueInfo::isDynamic() const {
  return std::ranges::any_of(shape, [](int64_t size) { return size < 0; });
}

int64_t ValueInfo::shardBytes() const {
  if (isToken || isDynamic())
    return 0;
  return tensor::byteCount(type.storage, shardShape()).value_or(0);
}

} // namespace cupel::runtime
