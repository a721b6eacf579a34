// What stands between the quotes of a Python string, decoded. Used where syntax is read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::testbench::zoo {

/// Replaces escape sequences (and, in the literal parts of f-strings, doubled braces); nothing for
/// a \N{...}, whose table of names we do not have.
std::optional<std::string> unescape(std::string_view raw, bool isFormat, bool isRaw);

} // namespace cupel::testbench::zoo
