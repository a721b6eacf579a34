// How a selection is cut for many machines: classes of tests that need the same of a machine, chunks
// that are worth a job each, and blocks, the pieces in which tests are claimed and stolen. Durations
// are those that were measured; a test nobody measured counts as the median of its kind. Used by
// whoever submits chunks and by bench/scale, which plays a whole lab; knows nothing of schedulers.
#pragma once

#include "cupel/support/Error.h"

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::scale {

/// A test as far as planning is concerned.
struct PlannedTest {
  std::string name;         ///< Full.
  std::string kind;         ///< Whose median stands in for a duration that is not known.
  double seconds = -1;      ///< Negative: nobody measured it.
  uint32_t chips = 1;
  uint64_t memoryBytes = 0; ///< 0: nobody measured it.
};

/// What tests of one class need of a machine.
struct Resources {
  uint32_t chips = 1;
  uint64_t memoryBytes = 0; ///< Rounded up, so that classes are few; 0: nothing special.
  auto operator<=>(const Resources &) const = default;
};

/// Tests that are claimed together, in this order.
struct Block {
  double seconds = 0;          ///< Expected.
  std::vector<uint32_t> tests; ///< Their places in the selection.
};

/// What one job is made for; the longest tests come first.
struct Chunk {
  uint32_t resources = 0; ///< Place in Plan::classes.
  double seconds = 0;
  std::vector<Block> blocks;
};

struct Plan {
  std::vector<Resources> classes;
  std::vector<Chunk> chunks; ///< Those of a class follow each other, the longest tests first.

  size_t blockCount() const;
};

struct PlanOptions {
  double leastSeconds = 60; ///< Of a chunk: what a scheduler costs must stay small beside it.
  double blockSeconds = 15; ///< About; a longer test is a block of its own.
  uint32_t slots = 0;       ///< Jobs that can run at once; 0: nobody knows.
  uint32_t mostChunks = 1000; ///< Of one class.
};

Plan makePlan(const std::vector<PlannedTest> &tests, const PlanOptions &options);

/// The plan as JSON, which tasks on other machines read.
std::string toJson(const Plan &plan);
Result<Plan> planFromJson(std::string_view text);

} // namespace cupel::testbench::scale
