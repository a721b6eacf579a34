// Finding and starting the other binaries of Cupel, and asking a tool for its output. Used by the
// command line, which links no MLIR and hands such work to its siblings. Never goes through a
// shell.
#pragma once

#include "cupel/support/Error.h"

#include <chrono>
#include <string>
#include <vector>

namespace cupel {

/// The folder of the running binary, with symbolic links resolved.
std::string executableFolder();

/// Replaces this process by `program` (an absolute path); returns only if that failed.
Status execute(const std::string &program, const std::vector<std::string> &arguments);

/// What a finished command left behind.
struct CommandOutput {
  int exitCode = 0; ///< 128 + signal where it was killed.
  std::string text; ///< Standard output and standard error.
  std::chrono::duration<double, std::milli> wall{};
};

/// Runs a command found through PATH with empty input, waits for it, at most `limit`, and returns
/// what it printed.
Result<CommandOutput> runCommand(const std::vector<std::string> &command,
                                 std::chrono::seconds limit = std::chrono::seconds(10));

/// `signal 11, SIGSEGV (Segmentation fault)`.
std::string describeSignal(int number);

/// Where PATH finds `program`; empty if nowhere.
std::string findOnPath(const std::string &program);

} // namespace cupel
