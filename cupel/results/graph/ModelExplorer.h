// Graphs and overlays in the JSON that Google's Model Explorer reads, for those who use it. Always
// with namespaces: it lays out what stands side by side in JavaScript, and a thousand nodes in a row
// take it most of a minute.
#pragma once

#include "cupel/results/graph/Graph.h"

#include <string>

namespace cupel::results::graph {

/// A file with a graph for each stage.
std::string modelExplorerGraphs(const Graph &graph);
/// Its node data: an overlay of that name of every stage that has one; empty where none does.
std::string modelExplorerOverlay(const Graph &graph, std::string_view overlay);

} // namespace cupel::results::graph
