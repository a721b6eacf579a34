// The one list of architectures: the descriptors of zoo/archs, put into a library at build time.
// Whoever needs names asks here, so that a new architecture is one file. Knows nothing else; what a
// descriptor says is read by Architecture.h.
#pragma once

#include <span>
#include <string_view>

namespace cupel::runtime {

struct BuiltInArchitecture {
  std::string_view name;
  std::string_view yaml;
  bool isDescribed; ///< False: it can be named, and no more is known.
};

std::span<const BuiltInArchitecture> builtInArchitectures();

} // namespace cupel::runtime
