// A change of a text file as people review it: a unified diff, as `diff -u` writes and `git apply`
// and `patch` take. For verbs that propose edits instead of making them.
#pragma once

#include <string>
#include <string_view>

namespace cupel::testbench::triage {

/// Empty where nothing differs. `path` stands behind `a/` and `b/`; a file that was not there, or
/// will not be there, is /dev/null.
std::string unifiedDiff(std::string_view path, std::string_view before, std::string_view after,
                        bool existed = true);

} // namespace cupel::testbench::triage
