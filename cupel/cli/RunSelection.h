// From options to the tests that `cupel run` runs.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/TestItem.h"
#include "cupel/testbench/matrix/Collect.h"

#include <string>
#include <vector>

namespace cupel::cli {

struct Selection {
  std::vector<testbench::TestItem> items;
  std::vector<std::string> errors, warnings; ///< Lines for the user; the rest goes on.
  size_t found = 0;                          ///< Tests there are, selected or not.
};

Result<Selection> selectTests(const testbench::matrix::CollectOptions &options);

} // namespace cupel::cli
