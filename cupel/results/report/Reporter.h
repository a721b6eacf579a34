// Who is told what happens during a run: the terminal, and whatever else wants to follow. The
// runner calls these in the order things happen, from one thread; a reporter must never fail the
// run, whatever becomes of its output.
#pragma once

#include "cupel/results/Record.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace cupel::results {

struct RunChanges;

class Reporter {
public:
  virtual ~Reporter();

  /// `run.selected` tests are about to run.
  virtual void runStarted(const RunInfo &run) = 0;
  /// `slot` is the worker that runs it, from 0; `attempt` from 1.
  virtual void testStarted(std::string_view fullName, uint32_t slot, uint32_t attempt) = 0;
  virtual void stageEntered(std::string_view fullName, uint32_t slot, Stage stage) = 0;
  /// A line about how far it is.
  virtual void testTold(std::string_view, std::string_view) {}
  /// Its outcome is final and in the journal.
  virtual void testEnded(const TestRecord &record) = 0;
  /// One line about the run itself: a device marked bad, a store that cannot be written.
  virtual void note(std::string_view line) = 0;
  /// Time passes; called at least a few times a second.
  virtual void tick() = 0;
  /// The end: `changes` are those since the tests' earlier outcomes, null where there are none.
  virtual void runEnded(const RunInfo &run, const RunChanges *changes) = 0;
};

} // namespace cupel::results
