// Starts a program and waits for it, with a folder and an environment of its own and a limit on its
// time. For commands that take minutes and print a lot; never through a shell.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::testbench::requirements {

struct Command {
  std::vector<std::string> words; ///< The program is an absolute path.
  std::string folder;             ///< Where it runs; empty: here.
  std::vector<std::string> environment;
  uint32_t timeoutSeconds = 600;
};

struct CommandEnd {
  int exitCode = 0;      ///< 128 + signal where it was killed.
  bool timedOut = false; ///< And was killed, with all its children.
  std::string output;    ///< The last part of what it printed, both streams.
};

Result<CommandEnd> runToEnd(const Command &command);

} // namespace cupel::testbench::requirements
