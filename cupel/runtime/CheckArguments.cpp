#include "cupel/runtime/CheckArguments.h"

#include <algorithm>

namespace cupel::runtime {

using tensor::Tensor;

static bool fits(const Tensor &tensor, const ValueInfo &expected) {
  if (tensor.dtype() != expected.type.storage ||
      tensor.rank() != static_cast<int64_t>(expected.shape.size()))
    return false;
  if (expected.shards.kind == tensor::Shards::Kind::Tiled)
    return std::ranges::equal(tensor.shape(), expected.shardShape());
  for (int64_t d = 0; d < tensor.rank(); ++d)
    if (expected.shape[d] >= 0 && expected.shape[d] != tensor.dim(d))
      return false;
  return true;
}

Status checkArguments(const ProgramInfo &info, const ProcessTensors &arguments) {
  if (static_cast<int64_t>(arguments.size()) != info.processCount())
    return Error{"the program runs on " + std::to_string(info.processCount()) +
                 " devices, and arguments for " + std::to_string(arguments.size()) + " are given"};
  for (const std::vector<Tensor> &own : arguments) {
    if (own.size() != info.arguments.size())
      return Error{"the program takes " + std::to_string(info.arguments.size()) +
                   " arguments, not " + std::to_string(own.size())};
    for (size_t i = 0; i < own.size(); ++i) {
      const ValueInfo &expected = info.arguments[i];
      if (!expected.isToken && !fits(own[i], expected))
        return Error{"argument " + std::to_string(i) + " is a " +
                     tensor::describe(own[i].elementType(), own[i].shape()) +
                     " where the program takes a " +
                     tensor::describe(expected.type, expected.shardShape())};
    }
  }
  return {};
}

} // namespace cupel::runtime
