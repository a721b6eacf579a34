// Text that every database takes: UTF-8 without NUL. What tests print may hold any bytes. Used
// wherever text goes into a store; it never fails, and leaves good text as it is.
#pragma once

#include <string>
#include <string_view>

namespace cupel::results {

/// How many bytes from the beginning are good.
size_t plainPrefix(std::string_view text);

/// Each byte that is no part of UTF-8, and each NUL, becomes U+FFFD.
std::string plainText(std::string_view text);

} // namespace cupel::results
