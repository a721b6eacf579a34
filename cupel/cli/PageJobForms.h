// The fields that forms of the pages' jobs are made of; those of our own device come from the plugin's
// table of options.
#pragma once

#include "cupel/results/serve/Jobs.h"

#include <string>
#include <vector>

namespace cupel::cli {

std::vector<results::serve::JobKind> pageJobKinds(const std::vector<std::string> &devices);

/// The fields of `values` that are options of our own device and say something else than its default,
/// as `NAME=VALUE`.
std::vector<std::string> deviceOptionsIn(const results::serve::JobValues &values);

} // namespace cupel::cli
