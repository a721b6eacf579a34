// The journal of a run as it is written: an append-only file of JSON lines (their form is that of
// cupel/results/store/Journal.h) that holds every outcome before anybody is shown it. Lines are
// written and flushed to the disk by a thread of its own, many at a time. Reading it back
// (JournalReader.h) is how a killed run goes on. Nothing in it is ever changed, except that a line
// cut off by a crash is removed when the run goes on.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cupel::testbench::runner {

class Journal {
public:
  /// Begins the journal of a new run. The file must not exist.
  static Result<std::unique_ptr<Journal>> create(const std::string &path,
                                                 const results::RunInfo &run,
                                                 const std::vector<std::string> &selection);
  /// Takes hold of one that exists; an error where a run holds it. Read it after that, not before:
  /// somebody else may have gone on with it.
  static Result<std::unique_ptr<Journal>> reopen(const std::string &path);
  /// Removes what a crash left behind the last whole line.
  Status cutAt(uint64_t validBytes);
  /// The run goes on from here.
  void resumed();
  /// Writes what is left.
  ~Journal();
  Journal(const Journal &) = delete;
  Journal &operator=(const Journal &) = delete;

  /// A try of a test begins.
  void started(const std::string &fullName, uint32_t attempt);
  /// An outcome; the number under which `durable` tells that it is safe.
  uint64_t record(const results::TestRecord &record);
  /// The run is over.
  void ended(const results::RunInfo &run);

  /// All numbers up to this one are on disk.
  uint64_t durable();
  /// Becomes readable when `durable` has grown, or on failure. For poll(); `acknowledge` resets it.
  int descriptor() const { return event; }
  void acknowledge();

  /// Waits until everything is on disk; an error where that failed (a full disk), for good.
  Status flush();
  /// The first error of writing, if any: nothing is durable after it.
  Status failure();

  const std::string &path() const { return name; }

private:
  Journal(std::string path, int file, int event);
  void append(std::string_view line, bool counts);
  void write();

  const std::string name;
  const int file, event;
  std::mutex mutex;
  std::condition_variable wake, done;
  std::string pending;
  uint64_t appended = 0, written = 0;
  std::string error;
  bool closing = false, busy = false, hurry = false;
  std::thread writer;
};

} // namespace cupel::testbench::runner
