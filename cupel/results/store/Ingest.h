// Records of one run into the tables: row by row into SQLite, by COPY into PostgreSQL. Both end in
// the same rows, whatever came before, twice, or in another order. What the run has already is read
// once; since nobody else enters records meanwhile (the lock), everything else is decided here. A
// record that meets another of the same test goes through one place, `settle`.
#pragma once

#include "cupel/results/store/Database.h"
#include "cupel/results/store/RecordColumns.h"
#include "cupel/results/store/TestKeys.h"

#include <map>
#include <span>
#include <string>
#include <unordered_map>

namespace cupel::results {

/// A run as the tables know it.
struct RunKey {
  int64_t id = 0;
  std::string arch, device;
  double startedAt = 0;
};

/// What became of records that were given to the store.
struct Ingested {
  uint64_t added = 0, replaced = 0, unchanged = 0;
};

class RunIngest {
public:
  /// In a transaction that holds the lock of ingest, and within which it ends.
  RunIngest(Database &db, TestKeys &tests, RunKey run);

  void add(std::span<const RecordColumns> records);
  /// What the records teach of their tests and the run; to be called after the last of them.
  Ingested finish();

private:
  /// The run has another record of that test: the one that counts stays, the other is noted.
  void settle(int64_t test, const RecordColumns &record);
  void note(int64_t test, const RecordColumns &record);
  void insert(int64_t test, const RecordColumns &record);
  void learn();

  Database &db;
  TestKeys &tests;
  RunKey run;
  std::unordered_map<int64_t, size_t> present; ///< What record a test has, as a hash.
  std::map<Outcome, int64_t> counts;           ///< By how much they change.
  int64_t lastBefore = 0; ///< The last outcome of all that was there when we came.
  Ingested sum;
};

} // namespace cupel::results
