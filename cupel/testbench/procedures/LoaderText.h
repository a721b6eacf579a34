// Putting text into a Python file: what the edits of loaders share. The line that changed is told
// as it is afterwards.
#pragma once

#include "cupel/testbench/procedures/LoaderEdit.h"
#include "cupel/testbench/procedures/PythonTree.h"

namespace cupel::testbench::procedures {

/// The blanks that the line of `at` begins with.
std::string indentOf(std::string_view text, size_t at);

/// With `insertion` at `at`; fails where the result is no Python any more.
Result<LoaderFix> inserted(std::string_view text, size_t at, std::string_view insertion,
                           uint32_t line);
/// With whole lines behind the line of `at`.
Result<LoaderFix> insertedLine(std::string_view text, size_t at, std::string_view lines);
/// With [begin, end) replaced.
Result<LoaderFix> replaced(std::string_view text, size_t begin, size_t end, std::string_view with,
                           uint32_t line);

} // namespace cupel::testbench::procedures
