// `cupel show trace`: the commands of a program that were recorded into a file.
#pragma once

#include "cupel/cli/Verbs.h"

namespace cupel::cli {

/// Takes the words behind `cupel show trace`; returns the exit code.
int showTrace(const Arguments &arguments);

} // namespace cupel::cli
