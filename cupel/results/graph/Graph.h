// A program as a graph at every stage of its compilation, as `cupel-worker graph` writes it, with
// the hierarchy that makes large ones readable: groups by module path, and where too many things
// stand side by side, blocks of neighbours. The explorer and the Model Explorer format are made from
// it. Plain values; knows no MLIR.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::results::graph {

struct Node {
  std::string op, label, place;
  std::vector<std::pair<uint32_t, uint32_t>> inputs; ///< Nodes, and which of their results.
  std::vector<std::string> types;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::string> origins; ///< Places that it came from; stages are linked by them.
  uint32_t group = 0;               ///< The innermost one.
};

/// Group 0 is the whole stage.
struct Group {
  std::string name;
  uint32_t parent = 0, depth = 0;
  std::vector<uint32_t> groups, nodes; ///< Directly inside.
  uint32_t first = 0;                  ///< Its first node.
  uint32_t count = 0;                  ///< Nodes inside, however deep.
};

/// A number or word for some nodes.
struct Overlay {
  std::string name, unit;
  bool isNumber = true;
  std::vector<std::optional<double>> numbers; ///< One a node.
  std::vector<std::string> words;             ///< One a node where it is no number.
};

struct GraphStage {
  std::string name, title, error;
  std::vector<Node> nodes;
  std::vector<Group> groups;
  std::vector<Overlay> overlays;

  const Overlay *overlay(std::string_view name) const;
  /// `a/b/c` of a group; empty for the whole stage.
  std::string path(uint32_t group) const;
};

struct Graph {
  std::string file;
  std::vector<GraphStage> stages;

  const GraphStage *stage(std::string_view name) const;
};

/// Most things side by side in a group; more are put into blocks of neighbours.
inline constexpr size_t kMostTogether = 150;

Result<Graph> readGraph(std::string_view json);
/// Makes `groups` and each node's group from the module paths of its nodes.
void makeGroups(GraphStage &stage, const std::vector<std::vector<std::string>> &paths);

} // namespace cupel::results::graph
