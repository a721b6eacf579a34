#include "cupel/results/graph/Graph.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

namespace cupel::results::graph {
namespace {

using Json = nlohmann::ordered_json;

Result<GraphStage> readStage(const Json &json) {
  GraphStage stage;
  stage.name = json.value("name", "");
  stage.title = json.value("title", stage.name);
  stage.error = json.value("error", "");
  std::vector<std::vector<std::string>> paths;
  const Json &nodes = json.at("nodes");
  for (const Json &entry : nodes) {
    Node &node = stage.nodes.emplace_back();
    node.op = entry.at("op").get<std::string>();
    node.label = entry.value("label", node.op);
    node.place = entry.value("place", "");
    for (const Json &input : entry.at("inputs")) {
      auto source = input.at(0).get<uint64_t>();
      if (source >= nodes.size())
        return Error{fmt::format("node {} reads node {}, and there are {}", stage.nodes.size() - 1,
                                 source, nodes.size())};
      node.inputs.emplace_back(uint32_t(source), input.at(1).get<uint32_t>());
    }
    node.types = entry.at("types").get<std::vector<std::string>>();
    for (const auto &[key, value] : entry.at("attributes").items())
      node.attributes.emplace_back(key, value.get<std::string>());
    node.origins = entry.at("origins").get<std::vector<std::string>>();
    paths.push_back(entry.at("group").get<std::vector<std::string>>());
  }
  makeGroups(stage, paths);
  for (const Json &entry : json.value("overlays", Json::array())) {
    Overlay &overlay = stage.overlays.emplace_back();
    overlay.name = entry.at("name").get<std::string>();
    overlay.unit = entry.value("unit", "");
    overlay.numbers.resize(stage.nodes.size());
    for (const Json &pair : entry.at("values")) {
      auto node = pair.at(0).get<uint64_t>();
      if (node >= stage.nodes.size())
        return Error{overlay.name + " speaks of a node that is not there"};
      if (pair.at(1).is_number()) {
        overlay.numbers[node] = pair.at(1).get<double>();
      } else {
        overlay.isNumber = false;
        overlay.words.resize(stage.nodes.size());
        overlay.words[node] = pair.at(1).get<std::string>();
      }
    }
  }
  return stage;
}

/// A tree that is being made; blocks come last.
class GroupMaker {
public:
  explicit GroupMaker(GraphStage &stage) : stage(stage) { stage.groups.assign(1, Group()); }

  uint32_t child(uint32_t parent, const std::string &name) {
    auto [found, isNew] = children.try_emplace({parent, name}, uint32_t(stage.groups.size()));
    if (isNew)
      add(parent, name);
    return found->second;
  }

  /// Puts neighbours into blocks until no group has too many things side by side.
  void cutIntoBlocks() {
    for (uint32_t group = 0; group < stage.groups.size(); ++group) {
      while (stage.groups[group].nodes.size() + stage.groups[group].groups.size() > kMostTogether) {
        size_t before = stage.groups[group].nodes.size() + stage.groups[group].groups.size();
        if (stage.groups[group].nodes.size() > kMostTogether / 2)
          cutNodes(group);
        else
          cutGroups(group);
        if (stage.groups[group].nodes.size() + stage.groups[group].groups.size() >= before)
          break;
      }
    }
  }

private:
  uint32_t add(uint32_t parent, const std::string &name) {
    Group group;
    group.name = name;
    group.parent = parent;
    group.depth = stage.groups[parent].depth + 1;
    stage.groups.push_back(std::move(group));
    stage.groups[parent].groups.push_back(uint32_t(stage.groups.size() - 1));
    return uint32_t(stage.groups.size() - 1);
  }
  static constexpr size_t kBlock = 100;

  void cutNodes(uint32_t group) {
    std::vector<uint32_t> nodes;
    nodes.swap(stage.groups[group].nodes);
    for (size_t at = 0; at < nodes.size(); at += kBlock) {
      size_t end = std::min(at + kBlock, nodes.size());
      uint32_t block = add(group, fmt::format("operations {} to {}", at + 1, end));
      stage.groups[block].nodes.assign(nodes.begin() + ptrdiff_t(at), nodes.begin() + ptrdiff_t(end));
      for (uint32_t node : stage.groups[block].nodes)
        stage.nodes[node].group = block;
    }
  }
  void cutGroups(uint32_t group) {
    std::vector<uint32_t> groups;
    groups.swap(stage.groups[group].groups);
    for (size_t at = 0; at < groups.size(); at += kBlock) {
      size_t end = std::min(at + kBlock, groups.size());
      uint32_t block = add(group, fmt::format("groups {} to {}", at + 1, end));
      stage.groups[block].groups.assign(groups.begin() + ptrdiff_t(at), groups.begin() + ptrdiff_t(end));
      for (uint32_t inner : stage.groups[block].groups)
        stage.groups[inner].parent = block;
    }
  }

  GraphStage &stage;
  std::map<std::pair<uint32_t, std::string>, uint32_t> children;
};

} // namespace

void makeGroups(GraphStage &stage, const std::vector<std::vector<std::string>> &paths) {
  GroupMaker maker(stage);
  for (uint32_t node = 0; node < stage.nodes.size(); ++node) {
    uint32_t group = 0;
    for (const std::string &part : paths[node])
      group = maker.child(group, part);
    stage.nodes[node].group = group;
    stage.groups[group].nodes.push_back(node);
  }
  maker.cutIntoBlocks();
  for (Group &group : stage.groups) {
    group.count = 0;
    group.first = uint32_t(stage.nodes.size());
  }
  for (uint32_t node = 0; node < stage.nodes.size(); ++node)
    for (uint32_t group = stage.nodes[node].group;; group = stage.groups[group].parent) {
      ++stage.groups[group].count;
      stage.groups[group].first = std::min(stage.groups[group].first, node);
      if (group == 0)
        break;
    }
  // Depths again: blocks have moved groups down. Parents may stand behind their children.
  std::vector<uint32_t> waiting = {0};
  stage.groups[0].depth = 0;
  while (!waiting.empty()) {
    uint32_t group = waiting.back();
    waiting.pop_back();
    for (uint32_t inner : stage.groups[group].groups) {
      stage.groups[inner].depth = stage.groups[group].depth + 1;
      waiting.push_back(inner);
    }
  }
}

const Overlay *GraphStage::overlay(std::string_view wanted) const {
  auto found = std::ranges::find(overlays, wanted, &Overlay::name);
  return found == overlays.end() ? nullptr : &*found;
}

std::string GraphStage::path(uint32_t group) const {
  std::string text;
  for (; group != 0; group = groups[group].parent)
    text = groups[group].name + (text.empty() ? "" : "/" + text);
  return text;
}

const GraphStage *Graph::stage(std::string_view wanted) const {
  auto found = std::ranges::find(stages, wanted, &GraphStage::name);
  return found == stages.end() ? nullptr : &*found;
}

Result<Graph> readGraph(std::string_view text) {
  try {
    Json json = Json::parse(text);
    if (json.value("schema", "") != "cupel-graph-1")
      return Error{"this is no graph that cupel-worker wrote"};
    Graph graph;
    graph.file = json.value("file", "");
    for (const Json &entry : json.at("stages")) {
      Result<GraphStage> stage = readStage(entry);
      if (!stage)
        return stage.error();
      graph.stages.push_back(std::move(*stage));
    }
    return graph;
  } catch (const Json::exception &error) {
    return Error{std::string("a graph cannot be read: ") + error.what()};
  }
}

} // namespace cupel::results::graph
