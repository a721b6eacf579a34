// Hands a verb to one of the binaries beside `cupel`, which link MLIR or serve pages.
#pragma once

#include "cupel/cli/Verbs.h"

namespace cupel::cli {

/// Becomes `binary` with these arguments; comes back only where that failed, which is reported.
int handOver(std::string_view verb, const char *binary, const Arguments &arguments);

} // namespace cupel::cli
