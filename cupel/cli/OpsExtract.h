// `cupel ops extract`, a verb within `cupel ops`.
#pragma once

#include "cupel/cli/Verbs.h"

namespace cupel::cli {

int runOpsExtract(const Arguments &arguments);

} // namespace cupel::cli
