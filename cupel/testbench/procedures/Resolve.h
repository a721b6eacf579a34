// From what a person typed to the entry that is meant: a key of the configuration, or the name that
// a model has in reports.
#pragma once

#include "cupel/testbench/procedures/Procedure.h"

namespace cupel::testbench::procedures {

struct Resolved {
  std::string key;
  const TestItem *item = nullptr; ///< Its test.
};

/// The error says what to type instead.
Result<Resolved> resolve(const Inputs &inputs, const std::string &test);

/// Training tests of the same loader that have an entry, the item itself among them.
std::vector<const TestItem *> trainingEntries(const Inputs &inputs, const std::string &modelPath);

} // namespace cupel::testbench::procedures
