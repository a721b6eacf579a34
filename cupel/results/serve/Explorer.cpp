#include "cupel/results/serve/Explorer.h"

#include "cupel/results/graph/GroupValues.h"
#include "cupel/results/graph/Layout.h"
#include "cupel/results/serve/Api.h"
#include "cupel/results/serve/GraphOverlays.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace cupel::results::serve {
namespace {

using Json = nlohmann::ordered_json;
using namespace cupel::results::graph;

HttpAnswer replyWith(const Json &json) {
  return {.body = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

std::optional<uint32_t> numberIn(std::string_view text, size_t below) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value >= below)
    return std::nullopt;
  return value;
}

std::vector<bool> openGroups(const GraphStage &stage, std::string_view list) {
  std::vector<bool> open(stage.groups.size(), list == "all");
  while (!list.empty() && list != "all") {
    std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    if (std::optional<uint32_t> group = numberIn(one, stage.groups.size()))
      open[*group] = true;
  }
  return open;
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"); }

/// What an overlay says of a box; null where it says nothing.
class BoxValues {
public:
  BoxValues(const GraphStage &stage, const Overlay *overlay) : overlay(overlay) {
    if (overlay)
      groups = groupValuesOf(stage, *overlay);
  }

  Json of(const Box &box) const {
    if (!overlay)
      return nullptr;
    if (!overlay->isNumber) {
      const std::string &word = (box.isGroup ? groups.words : overlay->words)[box.id];
      return word.empty() ? Json() : Json(word);
    }
    std::optional<double> number = (box.isGroup ? groups.numbers : overlay->numbers)[box.id];
    return number ? finite(*number) : Json();
  }

private:
  const Overlay *overlay;
  GroupValues groups;
};

Json nodeBrief(const GraphStage &stage, uint32_t id) {
  const Node &node = stage.nodes[id];
  Json groups = Json::array();
  for (uint32_t group = node.group; group != 0; group = stage.groups[group].parent)
    groups.push_back(group);
  return {{"id", id}, {"op", node.op}, {"label", node.label}, {"place", node.place},
          {"path", stage.path(node.group)}, {"groups", std::move(groups)}};
}

HttpAnswer describeGraph(const Graph &graph, const std::string &key) {
  Json stages = Json::array();
  for (const GraphStage &stage : graph.stages) {
    Json overlays = Json::array();
    for (const Overlay &overlay : stage.overlays) {
      double low = INFINITY, high = -INFINITY;
      std::set<std::string> words(overlay.words.begin(), overlay.words.end());
      words.erase("");
      for (const std::optional<double> &value : overlay.numbers)
        if (value && std::isfinite(*value)) {
          low = std::min(low, *value);
          high = std::max(high, *value);
        }
      overlays.push_back({{"name", overlay.name}, {"unit", overlay.unit}, {"words", words}, {"together", name(togetherOf(overlay))},
                          {"least", std::isfinite(low) ? Json(low) : Json()}, {"most", std::isfinite(high) ? Json(high) : Json()}});
    }
    Json entry = {{"name", stage.name}, {"title", stage.title}, {"nodes", stage.nodes.size()},
                  {"groups", stage.groups.size() - 1}, {"overlays", std::move(overlays)}};
    if (!stage.error.empty())
      entry["error"] = stage.error;
    stages.push_back(std::move(entry));
  }
  return replyWith({{"schema", "cupel-explorer-1"}, {"key", key}, {"file", graph.file}, {"stages", std::move(stages)}});
}

HttpAnswer viewOf(const GraphStage &stage, const HttpRequest &request) {
  View view = layOut(stage, openGroups(stage, request.parameter("open")));
  BoxValues values(stage, stage.overlay(request.parameter("overlay")));
  Json boxes = Json::array(), edges = Json::array();
  for (const Box &box : view.boxes) {
    Json entry = {{"group", box.isGroup}, {"open", box.isOpen}, {"id", box.id}, {"parent", box.parent},
                  {"x", std::round(box.x)}, {"y", std::round(box.y)}, {"width", std::round(box.width)}, {"height", std::round(box.height)},
                  {"label", box.isGroup ? stage.groups[box.id].name : stage.nodes[box.id].label}};
    if (box.isGroup)
      entry["count"] = stage.groups[box.id].count;
    if (Json value = values.of(box); !value.is_null())
      entry["value"] = std::move(value);
    boxes.push_back(std::move(entry));
  }
  for (const Edge &edge : view.edges)
    edges.push_back(Json::array({edge.from, edge.to, edge.count}));
  return replyWith({{"width", std::round(view.width)}, {"height", std::round(view.height)}, {"boxes", std::move(boxes)}, {"edges", std::move(edges)}});
}

HttpAnswer nodeOf(const Graph &graph, const GraphStage &stage, const HttpRequest &request) {
  std::optional<uint32_t> id = numberIn(request.parameter("id"), stage.nodes.size());
  if (!id)
    return refuse(404, "no such node");
  const Node &node = stage.nodes[*id];
  Json entry = nodeBrief(stage, *id), inputs = Json::array(), readers = Json::array(), overlays = Json::object(), attributes = Json::object();
  for (auto [source, result] : node.inputs) {
    Json input = nodeBrief(stage, source);
    if (result < stage.nodes[source].types.size())
      input["type"] = stage.nodes[source].types[result];
    inputs.push_back(std::move(input));
  }
  for (uint32_t other = *id; other < stage.nodes.size(); ++other)
    if (std::ranges::any_of(stage.nodes[other].inputs, [&](const auto &input) { return input.first == *id; }))
      readers.push_back(nodeBrief(stage, other));
  for (const auto &[name, value] : node.attributes)
    attributes[name] = value;
  for (const Overlay &overlay : stage.overlays) {
    if (overlay.isNumber && overlay.numbers[*id])
      overlays[overlay.name] = finite(*overlay.numbers[*id]);
    else if (!overlay.isNumber && !overlay.words[*id].empty())
      overlays[overlay.name] = overlay.words[*id];
  }
  Json linked = Json::object();
  for (const GraphStage &other : graph.stages) {
    if (&other == &stage)
      continue;
    Json list = Json::array();
    for (uint32_t i : linkedIn(stage, *id, other))
      list.push_back(nodeBrief(other, i));
    linked[other.name] = std::move(list);
  }
  entry["types"] = node.types;
  entry["attributes"] = std::move(attributes);
  entry["origins"] = node.origins;
  entry["inputs"] = std::move(inputs);
  entry["readers"] = std::move(readers);
  entry["overlays"] = std::move(overlays);
  entry["linked"] = std::move(linked);
  return replyWith(entry);
}

HttpAnswer searchIn(const GraphStage &stage, const HttpRequest &request) {
  std::string wanted = request.parameter("q");
  auto lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    return text;
  };
  wanted = lower(wanted);
  Json found = Json::array();
  uint64_t count = 0;
  constexpr size_t kMost = 200;
  for (uint32_t i = 0; i < stage.nodes.size() && !wanted.empty(); ++i) {
    const Node &node = stage.nodes[i];
    bool fits = lower(node.op).find(wanted) != std::string::npos || lower(node.label).find(wanted) != std::string::npos || lower(node.place).find(wanted) != std::string::npos ||
                lower(stage.path(node.group)).find(wanted) != std::string::npos ||
                std::ranges::any_of(node.types, [&](const std::string &type) { return lower(type).find(wanted) != std::string::npos; }) ||
                std::ranges::any_of(node.origins, [&](const std::string &origin) { return lower(origin).find(wanted) != std::string::npos; });
    if (fits && ++count <= kMost)
      found.push_back(nodeBrief(stage, i));
  }
  return replyWith({{"count", count}, {"nodes", std::move(found)}});
}

/// Of an overlay of words: how often each stands there, and the nodes of one of them.
HttpAnswer wordsOf(const GraphStage &stage, const Overlay &overlay, const HttpRequest &request) {
  std::map<std::string, uint64_t> counts;
  std::string wanted = request.parameter("word");
  size_t most = numberIn(request.parameter("limit", "10"), 10'000).value_or(10);
  Json words = Json::array(), nodes = Json::array();
  for (uint32_t i = 0; i < stage.nodes.size(); ++i) {
    if (overlay.words[i].empty())
      continue;
    ++counts[overlay.words[i]];
    if (overlay.words[i] == wanted && nodes.size() < most)
      nodes.push_back(nodeBrief(stage, i));
  }
  std::vector<std::pair<std::string, uint64_t>> order(counts.begin(), counts.end());
  std::ranges::sort(order, [](const auto &a, const auto &b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
  for (const auto &[word, count] : order)
    words.push_back({{"word", word}, {"count", count}});
  return replyWith({{"overlay", overlay.name}, {"words", std::move(words)}, {"count", counts[wanted]}, {"nodes", std::move(nodes)}});
}

/// The nodes in a group, however deep.
HttpAnswer groupOf(const GraphStage &stage, const HttpRequest &request) {
  std::optional<uint32_t> id = numberIn(request.parameter("id"), stage.groups.size());
  if (!id)
    return refuse(404, "no such group");
  Json nodes = Json::array();
  std::vector<uint32_t> waiting = {*id};
  while (!waiting.empty()) {
    const Group &group = stage.groups[waiting.back()];
    waiting.pop_back();
    for (uint32_t node : group.nodes)
      nodes.push_back(node);
    waiting.insert(waiting.end(), group.groups.begin(), group.groups.end());
  }
  return replyWith({{"nodes", std::move(nodes)}});
}

HttpAnswer topOf(const GraphStage &stage, const HttpRequest &request) {
  const Overlay *overlay = stage.overlay(request.parameter("overlay"));
  if (!overlay)
    return refuse(404, "no such overlay");
  if (!overlay->isNumber)
    return wordsOf(stage, *overlay, request);
  std::vector<uint32_t> order;
  double sum = 0;
  for (uint32_t i = 0; i < stage.nodes.size(); ++i)
    if (overlay->isNumber && overlay->numbers[i] && !std::isnan(*overlay->numbers[i])) {
      order.push_back(i);
      sum += *overlay->numbers[i];
    }
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return *overlay->numbers[a] != *overlay->numbers[b] ? *overlay->numbers[a] > *overlay->numbers[b] : a < b; });
  if (request.parameter("order") == "least")
    std::ranges::reverse(order);
  auto bound = [&](const char *name, double otherwise) {
    std::string text = request.parameter(name);
    double value = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  double low = bound("from", -INFINITY), high = bound("to", INFINITY);
  std::erase_if(order, [&](uint32_t node) { return *overlay->numbers[node] < low || *overlay->numbers[node] > high; });
  size_t most = numberIn(request.parameter("limit", "10"), 10'000).value_or(10);
  Json list = Json::array();
  for (size_t i = 0; i < std::min(most, order.size()); ++i) {
    Json entry = nodeBrief(stage, order[i]);
    entry["value"] = finite(*overlay->numbers[order[i]]);
    list.push_back(std::move(entry));
  }
  return replyWith({{"overlay", overlay->name}, {"unit", overlay->unit}, {"count", order.size()}, {"sum", finite(sum)}, {"nodes", std::move(list)}});
}

} // namespace

void Explorer::add(std::string key, Graph graph) {
  std::lock_guard lock(mutex);
  if (graphs.empty())
    firstKey = key;
  // What was looked at least lately goes, but for what the server was started with.
  constexpr size_t kMostKept = 12;
  std::erase(order, key);
  if (!graphs.contains(key) && graphs.size() >= kMostKept) {
    auto oldest = std::ranges::find_if(order, [&](const std::string &one) { return one != firstKey; });
    graphs.erase(*oldest);
    order.erase(oldest);
  }
  order.push_back(key);
  graphs[std::move(key)] = std::make_shared<const Graph>(std::move(graph));
}

bool Explorer::has(const std::string &key) {
  std::lock_guard lock(mutex);
  return graphs.contains(key);
}

std::shared_ptr<const Graph> Explorer::find(const std::string &key) {
  std::lock_guard lock(mutex);
  auto found = graphs.find(key);
  return found == graphs.end() ? nullptr : found->second;
}

std::shared_ptr<const Graph> Explorer::graphOf(const HttpRequest &request) {
  std::lock_guard lock(mutex);
  auto found = graphs.find(request.parameter("key", firstKey));
  if (found == graphs.end())
    return nullptr;
  std::erase(order, found->first);
  order.push_back(found->first);
  return found->second;
}

HttpAnswer Explorer::answer(const HttpRequest &request) {
  if (request.method != "GET" && request.method != "HEAD")
    return refuse(405, "GET only");
  std::shared_ptr<const Graph> graph = graphOf(request);
  if (!graph)
    return refuse(404, request.parameter("key").empty() ? "no program is open; cupel explore FILE opens one" : "this program is not open");
  std::string_view question = std::string_view(request.path).substr(kRoot.size());
  if (question.empty())
    return describeGraph(*graph, request.parameter("key", firstKey));
  const GraphStage *stage = graph->stage(request.parameter("stage", graph->stages.empty() ? "" : graph->stages.front().name));
  if (!stage)
    return refuse(404, "no such stage");
  if (question == "/view")
    return viewOf(*stage, request);
  if (question == "/node")
    return nodeOf(*graph, *stage, request);
  if (question == "/search")
    return searchIn(*stage, request);
  if (question == "/group")
    return groupOf(*stage, request);
  if (question == "/top")
    return topOf(*stage, request);
  return refuse(404, "no such question");
}

std::string Explorer::describe() {
  return "\n## graph\n"
         "What `cupel explore` shows. `key` is that of a graph which a job opened (else the program that the server was started with); `stage` is "
         "`source`, `stablehlo`, `tensor` or `device`; ids of nodes and groups are numbers within a stage.\n\n"
         "| question | parameters | answer |\n|---|---|---|\n"
         "| `graph` | | `file`, `key`, and of each of the `stages` its `name`, `title`, how many `nodes` and `groups`, its `overlays` (`name`, `unit`, `words` or `least` and `most`, and how closed groups put values `together`: `sum`, `most`, `least`), or the `error` why there is none |\n"
         "| `graph/view` | `stage`, `open` (ids of open groups, or `all`), `overlay` | `boxes` with their places and values, `edges` as `[from, to, how many]` by the boxes' positions in the list |\n"
         "| `graph/node` | `stage`, `id` | `types`, `attributes`, `origins`, `inputs`, `readers`, `overlays`, and `linked`: nodes of other stages that come from the same place |\n"
         "| `graph/search` | `stage`, `q` | up to 200 `nodes` with the word in name, type, place or path, and their `count` |\n"
         "| `graph/group` | `stage`, `id` | the `nodes` in a group, however deep |\n"
         "| `graph/top` | `stage`, `overlay`, `limit` (10), `order` (`most`, `least`), `from` and `to` (values in between) | the `nodes` with the highest or lowest values, how many there are (`count`), and the `sum` of all; of an overlay of words how often each stands there (`words`), and the nodes of one (`word`) |\n";
}

} // namespace cupel::results::serve
