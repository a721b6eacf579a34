// What the parts of Store share; included by its sources only.
#pragma once

#include "cupel/results/store/Database.h"
#include "cupel/results/store/RecordColumns.h"
#include "cupel/results/store/Store.h"

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

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

struct Store::Impl {
  Impl(StorePlace place, bool readOnly)
      : place(std::move(place)), owned(openDatabase(this->place, readOnly)), db(*owned) {}

  StorePlace place;
  std::unique_ptr<Database> owned;
  Database &db;

  /// What messages call the store.
  const std::string &where() const {
    return place.database.empty() ? place.folder : place.database;
  }

  /// Throws where there is no such run.
  RunKey runKey(std::string_view id);
  double prunedAt(int64_t run);
  /// Enters the run or what is new of it. That of a shard says nothing of the run as a whole.
  void putRun(const RunInfo &run);
  /// Remembers that a journal is in the store up to its present size.
  void markImported(const std::string &name, uint64_t bytes);

  /// Takes records of one run, in any order and any number of times. In a transaction that holds
  /// `lockIngest`.
  void ingest(const RunKey &run, std::span<const RecordColumns> records, Ingested &sum);
  /// One client at a time: they would wait for each other's tests in opposite orders.
  void lockIngest() { db.lock("ingest"); }

private:
  using Counts = std::map<Outcome, int64_t>;
  static std::unique_ptr<Database> openDatabase(const StorePlace &place, bool readOnly);

  void ingestByRow(const RunKey &run, std::span<const RecordColumns> records, Ingested &sum,
                   Counts &counts);
  void ingestByCopy(const RunKey &run, std::span<const RecordColumns> records, Ingested &sum,
                    Counts &counts);
  int64_t testKey(const RecordColumns &record);
  /// Whether there was none of that test yet.
  bool insertOutcome(const RunKey &run, int64_t test, const RecordColumns &record);
  /// The run has another record of that test: the one that counts stays, the other is noted.
  void settle(const RunKey &run, int64_t test, const RecordColumns &record, Ingested &sum,
              Counts &counts);
  void note(const RunKey &run, int64_t test, const RecordColumns &record);
  void learn(const RunKey &run, int64_t test, const RecordColumns &record);
  void count(const RunKey &run, const Counts &counts);

  /// By full name. Tests are never removed, but for those of a transaction that was undone.
  std::unordered_map<std::string, int64_t> testKeys;
  uint64_t undoneBefore = 0;
};

/// Calls `body`, turning what the database throws into an error.
template <typename Body> auto guarded(Body &&body) -> decltype(body()) {
  try {
    return body();
  } catch (const DatabaseError &error) {
    return Error{error.message};
  }
}

} // namespace cupel::results
