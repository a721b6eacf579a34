// What --shape says, the same in every verb that has it: NAME=2x3, the shape of a model's input by
// its name. Free of MLIR, because both `cupel` and the worker read it.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cupel::frontends {

/// How the option is described in --help.
inline constexpr const char *kShapeHelp =
    "NAME=2x3: the shape of an input whose sizes are symbols; may be repeated";

/// All that was given, by name; an error that begins with the option for what is none, or the same
/// input twice.
Result<std::map<std::string, std::vector<int64_t>>>
parseShapes(const std::vector<std::string> &texts);

} // namespace cupel::frontends
