// Splitting a selection among machines (--shard i/n). Decided from the order of the tests and their
// durations alone, so that every machine that sees the same tests decides the same.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cupel::testbench::selection {

struct Shard {
  uint32_t index = 0; ///< From 0.
  uint32_t count = 1;
};

/// `i/n` with i from 1 to n.
Result<Shard> parseShard(std::string_view text);

/// The shard of each item, from 0: the longest first, each to the shard with the least so far.
/// Items without a known duration count as the average of those that have one. The order of the
/// items decides between equals, so it must be the same on every machine.
std::vector<uint32_t> assignShards(std::span<const std::optional<double>> seconds, uint32_t count);

} // namespace cupel::testbench::selection
