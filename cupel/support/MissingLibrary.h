// Which package a shared library comes in, for messages of the loader that name one it does not
// find. Used wherever a binary or plugin of ours is started or loaded.
#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// "; on Debian 12: apt-get install libmlir-19" where a message says that a library is missing
/// which Debian has; else empty.
std::string missingPackage(std::string_view message);

} // namespace cupel
