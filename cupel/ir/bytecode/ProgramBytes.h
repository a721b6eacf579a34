// A first look at an input's bytes, before MLIR sees them: is this bytecode, may it be text, or is
// it something else that deserves a clear name? Used by the verbs that read programs.
#pragma once

#include "cupel/support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::ir {

/// Whether the bytes start like MLIR bytecode, which portable artifacts are as well.
bool isBytecode(std::string_view bytes);

/// An error that names what the input is where it is neither bytecode nor text.
Status checkIsProgram(const std::string &name, std::string_view bytes);

/// A file's name without the ending of a program or model: what files beside it begin with.
std::string programStem(const std::string &path);

/// What separates programs in one file of text: a line with this in it, as MLIR's tools have it.
inline constexpr std::string_view kProgramSeparator = "// -----";

/// The programs of a text, each preceded by as many line breaks as keep its line numbers those of
/// the whole text.
std::vector<std::string> splitPrograms(std::string_view text);

} // namespace cupel::ir
