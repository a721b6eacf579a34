// The process pool of `cupel eval`: forked children work on numbered files and report every program
// of them over a pipe, so that a program which crashes or outstays its time costs itself alone. The
// parent must have no other threads, and what it is told comes in the order of the files whatever
// the number of children. Knows nothing of MLIR; Eval.cpp says what working on a file means.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cupel::cli {

/// What one program came to.
struct ProgramReport {
  bool failed = false;
  std::string output, errors;

  void fail(const std::string &message) {
    failed = true;
    errors += "cupel eval: error: " + message + "\n";
  }
};

/// How a child speaks to the parent: the number of programs, then for each that it starts the name
/// of it, and what it came to.
class ProgramChannel {
public:
  explicit ProgramChannel(int fd) : fd(fd) {}
  void programs(size_t count);
  void start(const std::string &name);
  void done(const ProgramReport &report);

private:
  friend class EvalPool;
  void send(char kind, uint64_t number, const std::string &first, const std::string &second);
  int fd;
};

class EvalPool {
public:
  /// Runs in a child: the programs of file number `file`, from `first` on.
  using Work = std::function<void(size_t file, size_t first, ProgramChannel &channel)>;
  /// Runs in the parent, in order.
  using Tell = std::function<void(const ProgramReport &report)>;

  struct Options {
    std::vector<std::string> files; ///< How they are named in messages.
    unsigned processes = 1;
    double timeoutSeconds = 0; ///< A program that takes longer by half is ended; 0: none is.
  };

  /// How many files have not been worked on to their end: more than 0 after an interrupt (SIGINT,
  /// SIGTERM), which ends the children and tells what they had finished.
  static Result<size_t> run(const Options &options, const Work &work, const Tell &tell);
};

} // namespace cupel::cli
