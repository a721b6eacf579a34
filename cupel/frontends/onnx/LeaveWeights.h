// Leaves the weights of a model where they lie in the file: the protobuf without the bytes of its
// large initializers, and where those are. So a model of many megabytes is parsed as fast as a
// small one. Used by Model; touches nothing but the lengths and tags around the weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cupel::frontends::onnx_import {

struct WithoutWeights {
  std::string model; ///< A ModelProto.
  struct Place {
    size_t offset = 0, size = 0; ///< In the file; 0 bytes where an initializer keeps its own.
  };
  std::vector<Place> initializers; ///< One for each of the graph's.
};

/// Nothing where the file is no ModelProto of the usual form, which is for the parser to say.
std::optional<WithoutWeights> leaveWeights(std::span<const std::byte> file);

} // namespace cupel::frontends::onnx_import
