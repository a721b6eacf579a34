// The guard of a worker: a small process between the runner and the worker, in a session of its
// own. It adopts whatever the worker leaves behind, ends it all when the worker or the runner dies,
// and takes the blow where a test kills its parent's process group. Used by WorkerProcess, and by the
// pages' server for its jobs, which speak no protocol. It runs in a fork of a process with threads:
// nothing here may allocate or take a lock.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace cupel::testbench::runner {

/// How the worker is to be started. All strings live in the runner's memory before the fork.
struct GuardOrder {
  pid_t runner = 0;
  const char *program = nullptr; ///< An absolute path.
  char *const *arguments = nullptr;
  char *const *environment = nullptr;
  const char *folder = nullptr;                 ///< Where the worker starts.
  int requests = -1, replies = -1, output = -1; ///< The worker's ends.
  int status = -1;                              ///< The guard's own: it tells the runner.
  int errors = -1; ///< Of what is no worker: where its standard error goes; else with its output.
};

/// Where the worker finds the two pipes of the protocol.
inline constexpr int kRequestsDescriptor = 100, kRepliesDescriptor = 101;

/// What a guard tells: first the worker's number, then how it ended.
struct GuardReport {
  enum class Kind : int32_t { Started, Ended };
  Kind kind = Kind::Started;
  int32_t process = 0;
  int32_t status = 0; ///< As waitpid gives it.
};

/// The life of the guard, in the child of a fork. Never returns.
[[noreturn]] void guard(const GuardOrder &order);

} // namespace cupel::testbench::runner
