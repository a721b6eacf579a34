// The selection over a table: -k and -m by pytest's rules, suites, frameworks. One pass over the
// rows; what repeats (beginnings and endings of ids, sets of markers) is decided once. Used by
// `collect` alone.
#pragma once

#include "cupel/testbench/matrix/Table.h"
#include "cupel/testbench/selection/Expression.h"

#include <string>
#include <vector>

namespace cupel::testbench::matrix {

struct Selection {
  selection::Expression keyword, markers;
  std::vector<std::string> suites; ///< Empty: all.
  std::string framework;           ///< Empty: all.
};

/// The rows that are meant and not excluded.
selection::ItemSet select(const Table &table, const Annotation &annotation,
                          const Selection &selection);

} // namespace cupel::testbench::matrix
