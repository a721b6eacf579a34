// The frame of a fuzz program: the options that all of them have, the run over all inputs or over
// a few of them in this process for a debugger, and the summary. What is read, and how, is the
// program's own. Knows nothing of MLIR.
#pragma once

#include "tests/fuzz/Runner.h"

#include <chrono>
#include <optional>
#include <string_view>

namespace cupel::fuzz {

class Frame {
public:
  /// `paths` is what the arguments are, for the usage line: "FOLDER...".
  Frame(std::string program, std::string paths);

  /// Further options, besides --seed, --jobs, --save, --seconds, --only and --count.
  void flag(std::string name, bool &value);
  void number(std::string name, uint64_t &value);

  /// Ends the process with 2 where the arguments make no sense.
  void parse(int count, char **arguments);
  [[noreturn]] void usage(std::string_view problem) const;

  /// Runs all inputs, each in a child process, and prints a line for each kind; or those of --only
  /// in this process. Returns the exit code: 1 if one failed.
  int run(const InputSource &inputs, const Reader &reader) const;

  std::vector<std::string> paths;
  RunOptions options;
  uint64_t seed = 1;
  /// The input of --only: what is said of it is printed.
  std::optional<uint64_t> only;

private:
  std::string program, pathsText;
  std::vector<std::pair<std::string, bool *>> flags;
  std::vector<std::pair<std::string, uint64_t *>> numbers;
  uint64_t count = 1;
  std::chrono::steady_clock::time_point begin;
};

} // namespace cupel::fuzz
