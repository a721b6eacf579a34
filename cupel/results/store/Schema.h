// The tables of the results store and how older stores become current ones: a list of steps, the
// n-th of which leads from schema version n-1 to n. Steps are written once, in SQLite's words, and
// said by the database in its own (Database::inDialect). One that has been released never changes.
#pragma once

#include "cupel/results/store/Database.h"

namespace cupel::results {

/// The version this Cupel writes.
int64_t currentSchema();

/// Brings the database to `version` in one transaction, one client at a time; throws where it is
/// newer than this Cupel. Never leads backward.
void migrate(Database &db, int64_t version = currentSchema());

} // namespace cupel::results
