// The checks of a configuration beyond what loading it finds: entries in the wrong file, statuses
// that are missing or lack a reason, overrides without effect, words that mean nothing, and, given
// the tests of a zoo, entries and placeholders that are out of date. `cupel config check` runs
// them. They report; they never change anything.
#pragma once

#include "cupel/testbench/config/Configuration.h"

#include <span>
#include <string>
#include <vector>

namespace cupel::testbench::config {

struct CheckOptions {
  std::vector<std::string> furtherArchs; ///< Known besides knownArchs().
};

/// What is wrong with the configuration by itself: what loading found and more, sorted.
std::vector<Diagnostic> check(const Configuration &configuration, const CheckOptions &options = {});

/// What a zoo has, as far as a configuration speaks of it.
struct KnownTests {
  std::vector<std::string> ids;
  /// By what models are known: names of models, of variants, of pretrained weights.
  std::vector<std::string> modelNames;
  /// Models (`llama/causal_lm/pytorch`) that are there and whose tests are not known.
  std::vector<std::string> undecidedModels;
};

/// What is out of date with respect to a zoo. Tests without entry are one note with their number,
/// or one each if `listMissing`; `folder` is where that note is said to be.
std::vector<Diagnostic> checkAgainst(const KnownTests &tests, const Configuration &configuration,
                                     const std::string &folder, bool listMissing = false);

/// Up to `count` of the ids that are most like `id`, the best first.
std::vector<std::string_view> closestIds(std::string_view id, std::span<const std::string> ids,
                                         size_t count);

} // namespace cupel::testbench::config
