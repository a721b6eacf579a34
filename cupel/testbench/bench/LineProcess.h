// A process that answers lines with lines, in a group of its own, so that an interrupt of the
// terminal reaches us alone and what was measured can still be told. Used for everything that
// `cupel bench` measures. What it prints on standard error is kept for the message of its failure.
#pragma once

#include "cupel/support/Error.h"

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cupel::testbench::bench {

class LineProcess {
public:
  LineProcess() = default;
  LineProcess(LineProcess &&other) noexcept { *this = std::move(other); }
  LineProcess &operator=(LineProcess &&other) noexcept;
  ~LineProcess() { end(); }

  /// `environment`: NAME=VALUE, beside our own. `errors`: a file for its standard error.
  Status start(const std::vector<std::string> &command, const std::vector<std::string> &environment,
               const std::string &errors);
  bool isRunning() const { return process > 0; }

  Status write(const std::string &line);
  /// The next line; an error where it ended (and how), took longer than `seconds`, or `stop` became
  /// true.
  Result<std::string> readLine(double seconds, const volatile std::sig_atomic_t &stop);

  /// Closes its input and waits a little; then ends it by force.
  void end();
  /// Without waiting.
  void kill();

private:
  Error death();

  pid_t process = -1;
  int input = -1, output = -1;
  std::string buffered, errorFile, name;
};

} // namespace cupel::testbench::bench
