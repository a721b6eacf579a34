// What the parts of Store share; included by its sources only.
#pragma once

#include "cupel/results/store/Database.h"
#include "cupel/results/store/Store.h"

namespace cupel::results {

struct Store::Impl {
  Impl(std::string folder, bool readOnly, bool create)
      : folder(std::move(folder)), db(this->folder + "/results.sqlite", readOnly, create) {}

  std::string folder;
  Database db;

  /// Throws where there is no such run.
  int64_t runKey(std::string_view id);
  int64_t testKey(const TestRecord &record);
  enum class Put { Added, Replaced, Unchanged };
  Put put(int64_t run, const TestRecord &record);
  void putRun(const RunInfo &run);
  /// Remembers that a journal is in the store up to its present size.
  void markImported(const std::string &name, uint64_t bytes);
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
