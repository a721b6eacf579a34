// Small helpers on words, for messages that help: what the user probably meant. Used wherever a
// name is looked up and not found.
#pragma once

#include <string_view>
#include <vector>

namespace cupel {

/// How many letters must be inserted, removed, replaced or swapped with their neighbour.
size_t editDistance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, or an empty view if none is near enough to be worth naming.
std::string_view nearestWord(std::string_view word,
                             const std::vector<std::string_view> &candidates);

} // namespace cupel
