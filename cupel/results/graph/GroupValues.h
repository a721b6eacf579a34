// What an overlay says of a group as a whole, for the box of a closed one. Used by whoever shows a view
// with an overlay. A group never looks better than what is in it: what somebody should look at is not
// outvoted, and figures that cannot be added are not.
#pragma once

#include "cupel/results/graph/Graph.h"

namespace cupel::results::graph {

/// How values of nodes become one of their group, by what they are measured in: seconds, bytes and
/// counts are summed, of PCC the least counts, of all else the most.
enum class Together : uint8_t { Sum, Most, Least };
Together togetherOf(const Overlay &overlay);
std::string_view name(Together together);

/// One entry a group; empty where no node inside has a value.
struct GroupValues {
  std::vector<std::optional<double>> numbers;
  std::vector<std::string> words; ///< The most frequent, unless some are no good news: then of those.
};
GroupValues groupValuesOf(const GraphStage &stage, const Overlay &overlay);

} // namespace cupel::results::graph
