// The descriptors of zoo/archs as text, put into a source file when the project is built.

#pragma once

#include <span>
#include <string_view>

namespace cupel::runtime {

struct BuiltInArchitecture {
  std::string_view name, yaml;
};

std::span<const BuiltInArchitecture> builtInArchitectures();

} // namespace cupel::runtime
