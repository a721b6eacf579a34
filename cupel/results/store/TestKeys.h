// The numbers that tests have in the store. Whoever enters records asks for those of thousands at
// once; tests that are new get theirs. Tests are never removed, but for those of a transaction that
// was undone, so what was read once is true as long as the connection lives.
#pragma once

#include "cupel/results/store/Database.h"
#include "cupel/results/store/RecordColumns.h"

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace cupel::results {

class TestKeys {
public:
  explicit TestKeys(Database &db) : db(db) {}

  /// Of each record's test, in their order. In a transaction that holds the lock of ingest.
  std::vector<int64_t> of(std::span<const RecordColumns> records);

private:
  using Records = std::span<const RecordColumns *const>;
  void readNewest();
  void enterByRow(Records records);
  void enterByCopy(Records records);

  Database &db;
  std::unordered_map<std::string, int64_t> keys; ///< By full name.
  bool isRead = false;
  uint64_t undoneBefore = 0;
};

} // namespace cupel::results
