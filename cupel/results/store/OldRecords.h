// How stores before schema version 4 kept records: their stages, comparisons, reasons and artifacts
// in tables of their own. Used by the migration that puts them together, and by nothing else; it
// never changes.
#pragma once

#include "cupel/results/store/Database.h"

namespace cupel::results {

/// Writes the parts of every outcome into its record. The tables of the parts stay.
void foldPartsIntoRecords(Database &db);

} // namespace cupel::results
