// What an accelerator looks like from outside, read from a YAML descriptor: chips, their mesh, the
// memory of each, element types and tile. The descriptors of zoo/archs are built in; users name
// files of their own. Used by the plugin to make up that many devices; knows nothing of MLIR.

#pragma once

#include "cupel/compare/Precision.h"
#include "cupel/support/Error.h"
#include "cupel/tensor/DType.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::runtime {

struct Architecture {
  std::string name, description;
  int64_t chips = 1;
  std::vector<int64_t> mesh; // Its product is `chips`.
  int64_t dramBytes = 0;     // Of each chip; 0: no limit.
  int64_t sramBytes = 0;
  std::vector<tensor::DType> dtypes;
  std::vector<int64_t> tile;
  /// What its chips compute in; nothing: f32.
  std::optional<compare::DevicePrecision> precision;

  /// Where a chip sits in the mesh.
  std::vector<int64_t> coordinates(int64_t chip) const;
};

/// Reads a descriptor; `origin` names it in errors, which say line and column.
Result<Architecture> parseArchitecture(std::string_view yaml, const std::string &origin);

/// A built-in architecture by name, or the descriptor at a path (with a slash, or ending in .yaml).
Result<Architecture> findArchitecture(const std::string &nameOrPath);

/// The names of those that are built in.
std::vector<std::string> architectureNames();

} // namespace cupel::runtime
