// Overlays that are made from what is known of a program elsewhere: an explanation of a failure, a
// table of its operations on a device, what its launches are. Used by the explorer; each is left out
// where it would say nothing.
#pragma once

#include "cupel/results/OpTable.h"
#include "cupel/results/graph/Graph.h"
#include "cupel/support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::results::serve {

/// A node of a stage.
struct NodeOfStage {
  std::string stage;
  uint32_t node = 0;
};

/// Adds what an explanation of a failed test knows of places: the error against the reference by
/// depth, and the operations that are to blame. `explanation` is JSON (cupel/results/Explanation.h).
/// The first operation to blame, where the graph has one.
Result<std::optional<NodeOfStage>> addExplanation(graph::Graph &graph, std::string_view explanation);

/// Adds how far each operation comes on a device by itself, whether its result is right and with
/// which PCC. Operations are found by name, types and attributes. How many nodes the table speaks of.
size_t addOpTable(graph::Graph &graph, const OpTable &table);

/// Adds to the program as StableHLO which launch does each operation, by which kernel and whether
/// that is the reference's; and shardings, where the program speaks of them.
void addPlacement(graph::Graph &graph);

/// Takes over overlays of another graph of the same program; those of the same name are replaced.
Status takeOverlays(graph::Graph &into, const graph::Graph &from);

/// What became of a node in another stage: what comes from its place, or, since fusion gives what it
/// takes in its own place, what its neighbours went into and what does such an operation.
std::vector<uint32_t> linkedIn(const graph::GraphStage &stage, uint32_t id, const graph::GraphStage &other);

} // namespace cupel::results::serve
