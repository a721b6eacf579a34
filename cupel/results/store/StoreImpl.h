// What the parts of Store share; included by its sources only.
#pragma once

#include "cupel/results/store/Database.h"
#include "cupel/results/store/Ingest.h"
#include "cupel/results/store/Store.h"
#include "cupel/results/store/TestKeys.h"

#include <memory>
#include <string>

namespace cupel::results {

struct Store::Impl {
  Impl(StorePlace place, bool readOnly)
      : place(std::move(place)), owned(openDatabase(this->place, readOnly)), db(*owned),
        tests(*owned) {}

  StorePlace place;
  std::unique_ptr<Database> owned;
  Database &db;
  TestKeys tests;

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

  /// One client at a time: they would wait for each other's tests in opposite orders.
  void lockIngest() { db.lock("ingest"); }

private:
  static std::unique_ptr<Database> openDatabase(const StorePlace &place, bool readOnly);
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
