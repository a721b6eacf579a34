// The records of a journal as columns, a batch at a time, read by a thread of its own: while one
// batch is entered into the tables the next is parsed. Used by what imports journals (Import.cpp);
// it never touches a database.
#pragma once

#include "cupel/results/store/RecordColumns.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace cupel::results {

class JournalBatches {
public:
  /// Starts to read; records get the shard where no line says another.
  JournalBatches(std::string path, std::string shard);
  ~JournalBatches();
  JournalBatches(const JournalBatches &) = delete;
  JournalBatches &operator=(const JournalBatches &) = delete;

  /// The next ones, until the next call; none: that was all.
  std::span<const RecordColumns> next();

  // After the last batch.
  Result<uint64_t> &bytes() { return read; } ///< Of its complete lines.
  uint64_t tests = 0;                        ///< That it has records of.
  uint64_t damaged = 0;
  std::string firstDamage;

private:
  struct Batch {
    std::vector<RecordColumns> records; ///< Filled again and again: texts keep their memory.
    size_t filled = 0;
  };
  void parse();
  /// Hands the batch over and takes an empty one; false: nobody wants more.
  bool handOver();

  std::string path, shard;
  Result<uint64_t> read = uint64_t(0);
  Batch batches[3];
  Batch *filling = &batches[0], *reading = nullptr;
  std::vector<Batch *> empty = {&batches[1], &batches[2]}, full; // Guarded, as the next two.
  bool isOver = false, isUnwanted = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread parser;
};

} // namespace cupel::results
