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

  /// Starts the command, found through PATH. What it says on standard error goes to ours; where
  /// `listens`, the end of it is kept beside that, for `lastWords`.
  Status start(const std::vector<std::string> &command, bool listens = false);
  bool isRunning() const { return process > 0; }
  /// Ends it: gently at first, since it may have a device to hand back.
  void stop();

  Status write(std::string_view bytes, Deadline deadline);
  /// A line without its end.
  Result<std::string> readLine(Deadline deadline);
  Result<std::string> readBytes(size_t count, Deadline deadline);

  /// How it ended, if it has (it is given a moment), and the end of what it said: " (exit code 255;
  /// it said: ...)". Empty where there is nothing to tell.
  std::string lastWords();
  /// What it has printed and nobody has read yet.
  std::string takeUnread();

private:
  /// Waits for more of its output. False at its end.
  Result<bool> fill(Deadline deadline);

  /// Waits for one of our ends of its pipes, and passes on what it says meanwhile.
  void waitFor(int end, short events, Deadline deadline);
  void hear();

  pid_t process = -1;
  int input = -1, output = -1, errors = -1;
  std::string buffered, said;
};

} // namespace cupel::testbench::worker
