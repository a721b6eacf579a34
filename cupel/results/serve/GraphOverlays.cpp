#include "cupel/results/serve/GraphOverlays.h"

#include "cupel/results/Explanation.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace cupel::results::serve {
namespace {

using namespace cupel::results::graph;

/// Nodes of another stage that come from the same place.
std::vector<uint32_t> sharingPlaces(const Node &node, const GraphStage &other) {
  std::unordered_set<std::string_view> origins(node.origins.begin(), node.origins.end());
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < other.nodes.size(); ++i)
    if (std::ranges::any_of(other.nodes[i].origins, [&](const std::string &origin) { return origins.contains(origin); }))
      found.push_back(i);
  return found;
}

/// Whether a node says that it does `label` within itself.
bool doesWithin(const Node &node, std::string_view label) {
  for (const auto &[name, text] : node.attributes)
    if (name == "body") {
      std::string list = ", " + text + ",";
      return list.find(fmt::format(", {},", label)) != std::string::npos;
    }
  return false;
}

/// An overlay that is being filled; it joins its stage only if it says something.
class NewOverlay {
public:
  NewOverlay(GraphStage &stage, std::string name, std::string unit, bool isNumber) : stage(stage) {
    overlay.name = std::move(name);
    overlay.unit = std::move(unit);
    overlay.isNumber = isNumber;
    overlay.numbers.resize(stage.nodes.size());
    if (!isNumber)
      overlay.words.resize(stage.nodes.size());
  }
  ~NewOverlay() {
    if (!saysSomething)
      return;
    std::erase_if(stage.overlays, [&](const Overlay &one) { return one.name == overlay.name; });
    stage.overlays.push_back(std::move(overlay));
  }
  NewOverlay(const NewOverlay &) = delete;
  NewOverlay &operator=(const NewOverlay &) = delete;

  void set(size_t node, const std::optional<double> &value) {
    overlay.numbers[node] = value;
    saysSomething |= value.has_value();
  }
  void set(size_t node, std::string word) {
    saysSomething |= !word.empty();
    overlay.words[node] = std::move(word);
  }

private:
  GraphStage &stage;
  Overlay overlay;
  bool saysSomething = false;
};

/// Whether `place`, as an explanation writes it, is that of a node: with the operation's name before
/// it where only such an operation is meant.
bool isAt(const Node &node, std::string_view place) {
  if (place.empty())
    return false;
  if (place.starts_with(node.op) && place.substr(node.op.size()).starts_with(' '))
    place.remove_prefix(node.op.size() + 1);
  else if (size_t space = place.find(' '); space != std::string_view::npos && place.substr(0, space).find('.') != std::string_view::npos &&
                                           (place.substr(space + 1).starts_with("loc(") || place.starts_with("stablehlo.")))
    return false; // Another operation of that place.
  return node.place == place || std::ranges::find(node.origins, place) != node.origins.end();
}

/// `8x16xf32` of `tensor<8x16xf32>`.
std::string_view insideOf(std::string_view type) {
  if (type.starts_with("tensor<") && type.ends_with('>'))
    return type.substr(7, type.size() - 8);
  return type;
}

std::string typeText(const OpTensor &tensor) {
  std::string shape = tensor.shapeText();
  return shape.empty() ? tensor.type : shape + "x" + tensor.type;
}

std::string signatureOf(const OpRecord &op) {
  std::string text = op.name;
  for (const OpTensor &input : op.inputs)
    text += "|" + typeText(input);
  text += "->";
  for (const OpTensor &output : op.outputs)
    text += "|" + typeText(output);
  return text;
}

std::string signatureOf(const GraphStage &stage, const Node &node) {
  std::string text = node.op;
  for (auto [source, result] : node.inputs)
    text += "|" + std::string(result < stage.nodes[source].types.size() ? insideOf(stage.nodes[source].types[result]) : "?");
  text += "->";
  for (const std::string &type : node.types)
    text += "|" + std::string(insideOf(type));
  return text;
}

/// Whether the attributes that a table names are all the node's; a table may cut long ones.
bool hasAttributes(const Node &node, const std::string &attributes) {
  for (const auto &[name, value] : node.attributes) {
    std::string one = fmt::format("{} = {}", name, value.substr(0, 40));
    if (attributes.find(one) == std::string::npos && attributes.find(name + " = ") != std::string::npos)
      return false;
  }
  return true;
}

/// The one of the records with the same signature that means this node.
const OpRecord *recordOf(const Node &node, const std::vector<const OpRecord *> &candidates) {
  if (candidates.size() == 1)
    return candidates.front();
  for (const OpRecord *one : candidates)
    if (one->stablehloOps.empty() || hasAttributes(node, one->stablehloOps.front().attributes))
      return one;
  return nullptr;
}

std::string lowerWords(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return c == '_' ? ' ' : char(std::tolower(c)); });
  return text;
}

} // namespace

std::vector<uint32_t> linkedIn(const GraphStage &stage, uint32_t id, const GraphStage &other) {
  std::vector<uint32_t> direct = sharingPlaces(stage.nodes[id], other);
  if (!direct.empty())
    return direct;
  constexpr size_t kMostLooks = 24;
  std::vector<uint32_t> near = {id};
  std::set<uint32_t> seen = {id};
  for (size_t at = 0; at < near.size() && at < kMostLooks; ++at) {
    std::vector<uint32_t> neighbours;
    for (auto [source, result] : stage.nodes[near[at]].inputs)
      neighbours.push_back(source);
    for (uint32_t reader = near[at] + 1; reader < stage.nodes.size(); ++reader)
      if (std::ranges::any_of(stage.nodes[reader].inputs, [&](const auto &input) { return input.first == near[at]; }))
        neighbours.push_back(reader);
    for (uint32_t neighbour : neighbours) {
      if (!seen.insert(neighbour).second)
        continue;
      std::vector<uint32_t> into;
      for (uint32_t candidate : sharingPlaces(stage.nodes[neighbour], other))
        if (doesWithin(other.nodes[candidate], stage.nodes[id].label))
          into.push_back(candidate);
      if (!into.empty())
        return into;
      near.push_back(neighbour);
    }
  }
  return {};
}


Result<std::optional<NodeOfStage>> addExplanation(Graph &graph, std::string_view text) {
  Result<Explanation> explanation = explanationFromJson(text);
  if (!explanation)
    return explanation.error();
  std::optional<NodeOfStage> first;
  for (GraphStage &stage : graph.stages) {
    NewOverlay error(stage, "error against the reference", "relative L2", true), own(stage, "error of its own", "relative L2", true),
        blamed(stage, "blamed", "", false);
    for (uint32_t i = 0; i < stage.nodes.size(); ++i) {
      const Node &node = stage.nodes[i];
      for (const Explanation::Depth &depth : explanation->depths)
        if (isAt(node, depth.place)) {
          error.set(i, depth.relativeL2);
          own.set(i, depth.ownL2);
        }
      for (const Explanation::Operation &operation : explanation->operations) {
        // The name narrows a place down, as long as the stage still has such operations.
        bool isOther = stage.name == "stablehlo" && node.op != operation.name;
        if (isOther || !isAt(node, operation.place))
          continue;
        blamed.set(i, "to blame");
        if (!first || first->stage != "stablehlo")
          if (!first || stage.name == "stablehlo")
            first = NodeOfStage{stage.name, i};
      }
    }
  }
  return first;
}

size_t addOpTable(Graph &graph, const OpTable &table) {
  size_t spokenOf = 0;
  std::unordered_map<std::string, std::vector<const OpRecord *>> bySignature;
  for (const OpRecord &op : table.ops)
    bySignature[signatureOf(op)].push_back(&op);
  for (GraphStage &stage : graph.stages) {
    if (stage.name != "stablehlo")
      continue;
    NewOverlay came(stage, "op by op", "", false), coverage(stage, "coverage of the device", "", false), pcc(stage, "PCC op by op", "PCC", true),
        time(stage, "time op by op", "s", true);
    for (uint32_t i = 0; i < stage.nodes.size(); ++i) {
      auto found = bySignature.find(signatureOf(stage, stage.nodes[i]));
      const OpRecord *op = found == bySignature.end() ? nullptr : recordOf(stage.nodes[i], found->second);
      if (!op)
        continue;
      ++spokenOf;
      std::string verdict = op->passed ? (*op->passed ? "right" : "wrong") : op->failure.empty() ? lowerWords(name(op->status)) : op->failure;
      came.set(i, verdict);
      coverage.set(i, op->status >= OpStatus::Compiled ? "taken" : "not taken: " + lowerWords(name(op->status)));
      pcc.set(i, op->pcc);
      if (op->executeSeconds > 0)
        time.set(i, op->executeSeconds);
    }
  }
  return spokenOf;
}

void addPlacement(Graph &graph) {
  const GraphStage *device = graph.stage("device");
  auto found = std::ranges::find(graph.stages, "stablehlo", &GraphStage::name);
  if (found == graph.stages.end())
    return;
  GraphStage &stage = *found;
  {
    NewOverlay sharding(stage, "sharding", "", false);
    for (uint32_t i = 0; i < stage.nodes.size(); ++i)
      for (const auto &[name, value] : stage.nodes[i].attributes)
        if (name == "mhlo.sharding" || name == "sdy.sharding" || (name == "sharding" && stage.nodes[i].op.starts_with("sdy.")))
          sharding.set(i, value.substr(0, 80));
  }
  const Overlay *kernel = device ? device->overlay("kernel") : nullptr, *fallback = device ? device->overlay("fallback") : nullptr;
  // Links by neighbours look at all nodes for each; what is larger is shown without.
  constexpr size_t kMostNodes = 4000;
  if (!kernel || !fallback || stage.nodes.size() > kMostNodes)
    return;
  NewOverlay group(stage, "fusion group", "", false), place(stage, "placement", "", false), by(stage, "kernel", "", false);
  for (uint32_t i = 0; i < stage.nodes.size(); ++i) {
    if (stage.nodes[i].op.find('.') == std::string::npos || stage.nodes[i].op.starts_with("func."))
      continue;
    for (uint32_t launch : linkedIn(stage, i, *device)) {
      if (kernel->words[launch].empty())
        continue;
      group.set(i, fmt::format("launch {}", launch));
      place.set(i, fallback->words[launch] == "reference" ? "reference (fallback)" : "device");
      by.set(i, kernel->words[launch]);
      break;
    }
  }
}

Status takeOverlays(Graph &into, const Graph &from) {
  for (GraphStage &stage : into.stages) {
    const GraphStage *other = from.stage(stage.name);
    if (!other)
      continue;
    if (other->nodes.size() != stage.nodes.size())
      return Error{fmt::format("{} was compiled to {} nodes now and to {} before: this is another program", stage.title, other->nodes.size(), stage.nodes.size())};
    for (const Overlay &overlay : other->overlays) {
      std::erase_if(stage.overlays, [&](const Overlay &one) { return one.name == overlay.name; });
      stage.overlays.push_back(overlay);
    }
  }
  return {};
}

} // namespace cupel::results::serve
