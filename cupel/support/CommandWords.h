// A command as people type it, taken apart into words the way a shell does: quotes hold words
// together, a backslash takes the next character as it is. Nothing is expanded. Used for command
// prefixes that come as one option, such as a launcher's.
#pragma once

#include "cupel/support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace cupel {

/// An error where a quote is not closed.
Result<std::vector<std::string>> commandWords(std::string_view text);

/// The word so that a shell reads it back as it is.
std::string quotedForShell(std::string_view word);

} // namespace cupel
