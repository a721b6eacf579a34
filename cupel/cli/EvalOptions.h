// The options of `cupel eval`, parsed by hand: `--args` takes as many values as follow it.
#pragma once

#include "cupel/reference/Execute.h"

#include <string>
#include <vector>

namespace cupel::cli {

struct EvalOptions {
  std::vector<std::string> inputs;
  std::string entry;
  std::vector<std::string> args; ///< "random", "zeros", either with ":SHAPE", a .npy file or `dense<...>`.
  std::string saveFolder;
  std::string trace; ///< Which operations; empty: none.
  reference::RunOptions run;
  uint32_t replicas = 1, partitions = 1;
  unsigned jobs = 0;
  bool print = false;
  bool showHelp = false;

  /// What is wrong with the command line, or nothing.
  Status parse(int argc, char **argv);
  /// Sets the limit of memory for each of so many processes, unless the command line did.
  void divideMemory(unsigned processes);
  static const char *help();
};

} // namespace cupel::cli
