// The parts of records as tables that can be asked: stages, comparisons, reasons and artifacts are
// views into the JSON of outcomes. For questions in SQL (docs/reference/results.md); Cupel itself
// reads records whole.
#pragma once

#include "cupel/results/store/Database.h"

#include <string>

namespace cupel::results {

/// The statements that make them, in the words of that database.
std::string recordViews(Database::Kind kind);

} // namespace cupel::results
