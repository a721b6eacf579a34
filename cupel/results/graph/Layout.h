// Where the boxes of a stage stand, for a choice of open groups: layers from top to bottom by what
// reads what, neighbours near those that they read. No recursion and nothing worse than linear but
// the sorting of layers, so that 50,000 nodes take some 50 ms. Values in, values out.
#pragma once

#include "cupel/results/graph/Graph.h"

#include <cstdint>
#include <vector>

namespace cupel::results::graph {

struct Box {
  bool isGroup = false, isOpen = false;
  uint32_t id = 0;    ///< Of the node or group.
  int32_t parent = -1; ///< The box of the open group that it stands in; -1: the stage.
  float x = 0, y = 0, width = 0, height = 0; ///< From the stage's upper left corner.
};

struct Edge {
  uint32_t from = 0, to = 0; ///< Boxes.
  uint32_t count = 0;        ///< How many values go that way.
};

struct View {
  std::vector<Box> boxes; ///< A group before what stands in it.
  std::vector<Edge> edges;
  float width = 0, height = 0;
};

/// `isOpen`: one a group; the stage itself always is. Groups within closed ones are not shown.
View layOut(const GraphStage &stage, const std::vector<bool> &isOpen);

} // namespace cupel::results::graph
