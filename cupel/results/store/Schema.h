// The tables of the results store and how older stores become current ones: a list of steps, the
// n-th of which leads from schema version n-1 to n. A step that has been released never changes.
#pragma once

#include "cupel/results/store/Database.h"

#include <span>

namespace cupel::results {

std::span<const char *const> migrations();

/// The version this Cupel writes.
inline int64_t currentSchema() { return int64_t(migrations().size()); }

/// Brings the database to `version` in one transaction; throws where it is newer than this Cupel.
void migrate(Database &db, int64_t version = currentSchema());

} // namespace cupel::results
