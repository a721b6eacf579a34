// Splitting a selection among machines (--shard i/n) and repeating what did not succeed (-R). Both
// are decided from names, durations and outcomes alone, so that every machine that sees the same
// tests decides the same.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/selection/Expression.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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

/// -R: of these tests, those that did not succeed in an earlier run and those it knows nothing of.
/// `succeeded` maps a full name to whether it ended as expected.
ItemSet toRepeat(std::span<const std::string> fullNames,
                 const std::unordered_map<std::string, bool> &succeeded);

} // namespace cupel::testbench::selection
