// A first look at an input's bytes, before MLIR sees them: is this bytecode, may it be text, or is
// it something else that deserves a clear name? Used by the verbs that read programs.
#pragma once

#include "cupel/support/Error.h"

#include <string>
#include <string_view>

namespace cupel::cli {

/// Whether the bytes start like MLIR bytecode, which portable artifacts are as well.
bool isBytecode(std::string_view bytes);

/// An error that names what the input is where it is neither bytecode nor text.
Status checkIsProgram(const std::string &name, std::string_view bytes);

} // namespace cupel::cli
