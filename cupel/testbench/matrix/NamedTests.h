// Which rows of a table a name on the command line means: an id, with or without its suite, an item
// of pytest's, or a whole suite, function or file of them. Used by `collect` alone.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/matrix/Table.h"

#include <string>
#include <vector>

namespace cupel::testbench::matrix {

/// The rows that `text` means; where it can mean no row of any table, an error that names the
/// nearest id. `suites`: those that are asked for, empty for all.
Result<std::vector<uint32_t>> testsNamed(Table &table, const std::string &text,
                                         const std::vector<std::string> &suites);

} // namespace cupel::testbench::matrix
