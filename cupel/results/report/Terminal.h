// The run as people follow it: on a terminal a bar with the running tests and their stages, in a
// pipe one line a test that never changes its form, and at the end the few lines that matter.
#pragma once

#include "cupel/results/report/Changes.h"
#include "cupel/results/report/Reporter.h"
#include "cupel/results/report/Tally.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace cupel::results {

struct TerminalOptions {
  std::FILE *out = stdout;
  bool live = false;                ///< A terminal that a bar can be drawn on.
  bool colour = false;              ///< Escape sequences for colours.
  bool quiet = false;               ///< No line for tests that went as expected.
  uint32_t width = 80, height = 24; ///< Of a live terminal, asked anew whenever it is drawn on.
  /// Words that are repeated in the commands proposed at the end, e.g. `--results DIR`.
  std::string commandTail;
  /// Words that say where tests are and how they run, each after a space; for `cupel run` alone.
  std::string runWords;
  /// Seconds; replaced by tests.
  std::function<double()> clock;

  /// What fits `out`: live and coloured on a terminal that is not dumb, unless NO_COLOR says
  /// otherwise.
  static TerminalOptions forStream(std::FILE *out);
};

std::unique_ptr<Reporter> makeTerminalReporter(TerminalOptions options);

/// The end of a run as text: counts, what changed, unexpected passes, top reasons, flaky, slowest,
/// and the next command. Also what `cupel show RUN` prints.
std::string summaryText(const RunInfo &run, const Tally &tally, const RunChanges *changes,
                        const TerminalOptions &options);

/// One line of a test as a pipe gets it, without the line break:
/// `PASSED        programs::add.mlir (12 ms)`.
std::string testLine(const TestRecord &record, bool colour);

} // namespace cupel::results
