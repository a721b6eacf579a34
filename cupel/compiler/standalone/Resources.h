// Text that generated folders hold beside what is made for them: the Python package and the
// C++ headers `ops`, embedded from the files of this folder when it is built.

#pragma once

#include <span>
#include <string_view>

namespace cupel::compiler::standalone {

struct Resource {
  std::string_view path; ///< Below the generated folder.
  std::string_view text;
};

std::span<const Resource> pythonResources();
std::span<const Resource> cppResources();

} // namespace cupel::compiler::standalone
