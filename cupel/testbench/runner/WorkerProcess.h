// One worker as a process: started behind its guard with clean descriptors, folder, environment and
// limits, asked over pipes, and ended with everything it started. Used by the runner's loop, which
// polls its descriptors; nothing here waits. Knows the protocol's frames but not what tests are.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/support/OutputCapture.h"
#include "cupel/testbench/worker/Protocol.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cupel::testbench::runner {

struct WorkerCommand {
  std::vector<std::string> command; ///< The program by its path, and its arguments.
  std::string folder;               ///< Where it runs; must exist and be its own.
  uint64_t outputCap = 256 << 10;
};

/// How a worker ended.
struct WorkerEnd {
  std::optional<int> exitCode, signal;
  bool guardLost = false; ///< Its guard was killed, and it with it.
  /// One phrase: "signal 11, SIGSEGV (Segmentation fault)", "exit code 3".
  std::string text() const;
};

class WorkerProcess {
public:
  static Result<std::unique_ptr<WorkerProcess>> start(const WorkerCommand &command);
  /// Ends it at once, with everything below it.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess &) = delete;
  WorkerProcess &operator=(const WorkerProcess &) = delete;

  // For poll(). A closed one is -1, which poll() ignores.
  int repliesDescriptor() const { return replies; }
  int outputDescriptor() const { return output; }
  int statusDescriptor() const { return status; }
  /// Where it is not -1, something waits to be written to it.
  int pendingRequestsDescriptor() const { return toSend.empty() ? -1 : requests; }

  /// Sends a payload, as far as the pipe takes it; `flushRequests` sends the rest.
  void send(std::string_view payload);
  void flushRequests();

  /// Reads what has come; the next reply, or nothing, or an error where it is none.
  Result<std::optional<worker::Reply>> nextReply();
  /// Whether the worker closed its end while it lives.
  bool repliesClosed() const { return sawEndOfReplies; }
  /// Reads what the worker printed, into `printed`; at most about a megabyte, without waiting.
  void drainOutput();
  OutputCapture printed;

  /// How it ended, once it has; every process below it is gone by then.
  std::optional<WorkerEnd> readEnd();

  /// Asks it to go. It may take no notice.
  void terminate();
  /// Ends it and everything below it. To be repeated until `readEnd` tells the end: a guard that
  /// does not answer is ended too after a while.
  void destroy();
  /// Ends what the test left running below the worker; how many processes that were. The worker
  /// itself keeps those in `kept`.
  size_t endStragglers(const std::vector<pid_t> &kept);

  pid_t process() const { return workerProcess; }
  pid_t guardProcess() const { return guard; }
  /// Bytes in memory, with everything below it.
  uint64_t memoryBytes() const;

private:
  WorkerProcess(uint64_t outputCap) : printed(outputCap) {}
  void readReports(bool onlyOne = false);

  pid_t guard = 0, workerProcess = 0;
  int requests = -1, replies = -1, output = -1, status = -1;
  std::string toSend, folder;
  worker::FrameReader frames;
  bool sawEndOfReplies = false, repliesTaken = false;
  std::optional<WorkerEnd> end;
  std::optional<std::chrono::steady_clock::time_point> destroyedAt;
};

/// Ends and takes away children of this process that nobody here started: what workers left behind
/// whose guard was killed. `known` are guards that live.
void endStrays(const std::vector<pid_t> &known, const std::vector<pid_t> &present);

/// The children this process has now.
std::vector<pid_t> presentChildren();

} // namespace cupel::testbench::runner
