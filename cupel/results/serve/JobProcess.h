// One command of a job, behind a guard: a process tree that ends with its command, with the server
// or when the job is called off, whatever it started. Used by Jobs. Commands are lists of words and
// never meet a shell.
#pragma once

#include "cupel/support/Error.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace cupel::results::serve {

struct JobCommand {
  std::vector<std::string> words; ///< The first is an absolute path.
  /// The file that takes standard output; empty: it goes to the log with standard error.
  std::string output = {};
  /// Exit codes that are as good as 0: `cupel run` ends with 1 where a test failed.
  std::vector<int> alsoGood = {};
};

struct JobEnd {
  int exitCode = 0; ///< 128 + signal where it was killed.
  bool wasStopped = false, ranOutOfTime = false;
};

/// Runs a command in `folder` and waits for it. `log` gets what it prints, as it prints it; `stop`
/// ends it.
Result<JobEnd> runJobCommand(const JobCommand &command, const std::string &folder,
                             std::chrono::seconds limit, const std::atomic<bool> &stop,
                             const std::function<void(std::string_view)> &log);

} // namespace cupel::results::serve
