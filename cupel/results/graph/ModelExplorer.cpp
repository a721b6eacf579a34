#include "cupel/results/graph/ModelExplorer.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace cupel::results::graph {
namespace {

using Json = nlohmann::ordered_json;

Json keyValue(std::string_view key, std::string_view value) { return {{"key", key}, {"value", value}}; }

Json nodeJson(const GraphStage &stage, size_t number) {
  const Node &node = stage.nodes[number];
  Json attributes = Json::array({keyValue("op", node.op), keyValue("place", node.place)}), edges = Json::array(), outputs = Json::array();
  for (const auto &[name, value] : node.attributes)
    attributes.push_back(keyValue(name, value));
  for (size_t i = 0; i < node.inputs.size(); ++i)
    edges.push_back({{"sourceNodeId", std::to_string(node.inputs[i].first)},
                     {"sourceNodeOutputId", std::to_string(node.inputs[i].second)},
                     {"targetNodeInputId", std::to_string(i)}});
  for (size_t i = 0; i < node.types.size(); ++i)
    outputs.push_back({{"id", std::to_string(i)}, {"attrs", Json::array({keyValue("tensor_shape", node.types[i])})}});
  return {{"id", std::to_string(number)},
          {"label", node.label},
          {"namespace", stage.path(node.group)},
          {"incomingEdges", std::move(edges)},
          {"attrs", std::move(attributes)},
          {"outputsMetadata", std::move(outputs)}};
}

std::string textOf(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

} // namespace

std::string modelExplorerGraphs(const Graph &graph) {
  Json graphs = Json::array();
  for (const GraphStage &stage : graph.stages) {
    if (stage.nodes.empty())
      continue;
    Json nodes = Json::array();
    for (size_t i = 0; i < stage.nodes.size(); ++i)
      nodes.push_back(nodeJson(stage, i));
    graphs.push_back({{"id", stage.name}, {"nodes", std::move(nodes)}});
  }
  return textOf({{"label", graph.file}, {"graphs", std::move(graphs)}});
}

std::string modelExplorerOverlay(const Graph &graph, std::string_view wanted) {
  Json file = Json::object();
  for (const GraphStage &stage : graph.stages) {
    const Overlay *overlay = stage.overlay(wanted);
    if (!overlay)
      continue;
    Json results = Json::object(), data = {{"name", overlay->unit.empty() ? overlay->name : overlay->name + " (" + overlay->unit + ")"}};
    // Colours that are told apart by the colour-blind, for words in the order they first occur.
    constexpr const char *kColours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442"};
    std::vector<std::string> known;
    for (size_t i = 0; i < stage.nodes.size(); ++i) {
      if (overlay->isNumber) {
        // JSON has no words for the others.
        if (overlay->numbers[i] && std::isfinite(*overlay->numbers[i]))
          results[std::to_string(i)] = {{"value", *overlay->numbers[i]}};
      } else if (!overlay->words[i].empty()) {
        auto found = std::find(known.begin(), known.end(), overlay->words[i]);
        size_t colour = size_t(found - known.begin());
        if (found == known.end())
          known.push_back(overlay->words[i]);
        results[std::to_string(i)] = {{"value", overlay->words[i]}, {"bgColor", kColours[colour % std::size(kColours)]}};
      }
    }
    data["results"] = std::move(results);
    if (overlay->isNumber)
      data["gradient"] = Json::array({{{"stop", 0}, {"bgColor", "#fff7cc"}}, {{"stop", 1}, {"bgColor", "#b03000"}}});
    file[stage.name] = std::move(data);
  }
  return file.empty() ? std::string() : textOf(file);
}

} // namespace cupel::results::graph
