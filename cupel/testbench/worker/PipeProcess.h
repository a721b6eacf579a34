// A command that we talk to through its standard input and output, with deadlines: how the worker
// reaches cupel-device on another machine. Never goes through a shell.
#pragma once

#include "cupel/support/Error.h"

#include <chrono>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace cupel::testbench::worker {

class PipeProcess {
public:
  using Deadline = std::chrono::steady_clock::time_point;

  PipeProcess() = default;
  ~PipeProcess() { stop(); }
  PipeProcess(const PipeProcess &) = delete;

  /// Starts the command, found through PATH; its standard error stays ours.
  Status start(const std::vector<std::string> &command);
  bool isRunning() const { return process > 0; }
  /// Ends it: gently at first, since it may have a device to hand back.
  void stop();

  Status write(std::string_view bytes, Deadline deadline);
  /// A line without its end.
  Result<std::string> readLine(Deadline deadline);
  Result<std::string> readBytes(size_t count, Deadline deadline);

private:
  /// Waits for more of its output. False at its end.
  Result<bool> fill(Deadline deadline);

  pid_t process = -1;
  int input = -1, output = -1;
  std::string buffered;
};

} // namespace cupel::testbench::worker
