#include "cupel/results/graph/Layout.h"

#include <algorithm>
#include <tuple>

namespace cupel::results::graph {
namespace {

constexpr float kNodeHeight = 30, kCharacter = 7.2F, kPadding = 18, kGapX = 18, kGapY = 34,
                kTitle = 26, kWidest = 2600;
constexpr int kSweeps = 8;

float nodeWidth(const std::string &label) {
  return std::clamp(float(label.size()) * kCharacter + 20, 60.0F, 320.0F);
}

/// The children of one open group: layers, their order, and positions within the group.
class Layers {
public:
  Layers(std::vector<Box> &boxes, std::vector<uint32_t> children, std::vector<uint32_t> keys)
      : boxes(boxes), children(std::move(children)), keys(std::move(keys)), ranks(this->children.size()),
        before(this->children.size()), after(this->children.size()), places(this->children.size()) {}

  /// Positions within `children`, which are in the order of the program.
  void addEdge(uint32_t from, uint32_t to) {
    // Groups may read each other both ways; the program's order decides which way is down.
    if (keys[from] > keys[to])
      std::swap(from, to);
    after[from].push_back(to);
    before[to].push_back(from);
  }

  /// Sets x and y of all children from the group's corner; returns the room that they take.
  std::pair<float, float> place() {
    rank();
    order();
    return position();
  }

private:
  void rank() {
    for (uint32_t i = 0; i < children.size(); ++i)
      for (uint32_t from : before[i])
        ranks[i] = std::max(ranks[i], ranks[from] + 1);
    // What reads nothing stands just above its first reader.
    for (uint32_t i = 0; i < children.size(); ++i)
      if (before[i].empty() && !after[i].empty()) {
        uint32_t lowest = UINT32_MAX;
        for (uint32_t to : after[i])
          lowest = std::min(lowest, ranks[to]);
        ranks[i] = std::max<uint32_t>(lowest, 1) - 1;
      }
    uint32_t most = children.empty() ? 0 : *std::ranges::max_element(ranks);
    layers.resize(most + 1);
    for (uint32_t i = 0; i < children.size(); ++i) {
      places[i] = float(layers[ranks[i]].size());
      layers[ranks[i]].push_back(i);
    }
  }

  void order() {
    auto sweep = [&](std::vector<uint32_t> &layer, const std::vector<std::vector<uint32_t>> &neighbours) {
      if (layer.size() < 2)
        return;
      wanted.clear();
      for (uint32_t i : layer) {
        float sum = 0;
        for (uint32_t other : neighbours[i])
          sum += places[other];
        wanted.emplace_back(neighbours[i].empty() ? places[i] : sum / float(neighbours[i].size()), places[i], i);
      }
      std::ranges::sort(wanted);
      for (size_t at = 0; at < layer.size(); ++at) {
        layer[at] = std::get<2>(wanted[at]);
        places[layer[at]] = float(at);
      }
    };
    for (int turn = 0; turn < kSweeps; ++turn)
      if (turn % 2 == 0)
        for (auto &layer : layers)
          sweep(layer, before);
      else
        for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
          sweep(*layer, after);
  }

  std::pair<float, float> position() {
    // Rows: a layer, or as much of it as is not too wide.
    struct Row {
      std::vector<uint32_t> members;
      float width = 0, height = 0;
    };
    std::vector<Row> rows;
    for (const auto &layer : layers) {
      rows.emplace_back();
      for (uint32_t i : layer) {
        const Box &box = boxes[children[i]];
        if (!rows.back().members.empty() && rows.back().width + box.width > kWidest)
          rows.emplace_back();
        Row &row = rows.back();
        row.width += box.width + (row.members.empty() ? 0 : kGapX);
        row.height = std::max(row.height, box.height);
        row.members.push_back(i);
      }
    }
    float width = 0, y = 0;
    for (const Row &row : rows)
      width = std::max(width, row.width);
    for (const Row &row : rows) {
      float x = (width - row.width) / 2;
      for (uint32_t i : row.members) {
        Box &box = boxes[children[i]];
        box.x = x;
        box.y = y;
        x += box.width + kGapX;
      }
      y += row.height + kGapY;
    }
    // Single boxes move under what they read, where there is room.
    for (const Row &row : rows)
      for (size_t at = 0; at < row.members.size(); ++at) {
        uint32_t i = row.members[at];
        if (before[i].empty())
          continue;
        float sum = 0;
        for (uint32_t other : before[i])
          sum += boxes[children[other]].x + boxes[children[other]].width / 2;
        Box &box = boxes[children[i]];
        float low = at == 0 ? 0 : boxes[children[row.members[at - 1]]].x + boxes[children[row.members[at - 1]]].width + kGapX;
        float high = at + 1 == row.members.size() ? width - box.width : boxes[children[row.members[at + 1]]].x - kGapX - box.width;
        if (low <= high)
          box.x = std::clamp(sum / float(before[i].size()) - box.width / 2, low, high);
      }
    return {width, rows.empty() ? 0 : y - kGapY};
  }

  std::vector<Box> &boxes;
  std::vector<uint32_t> children, keys, ranks;
  std::vector<std::vector<uint32_t>> before, after, layers;
  std::vector<float> places;
  std::vector<std::tuple<float, float, uint32_t>> wanted; ///< Equals stay as they stood.
};

} // namespace

View layOut(const GraphStage &stage, const std::vector<bool> &isOpen) {
  View view;
  // Boxes from the outside in; children in the order of the program.
  std::vector<int32_t> boxOfGroup(stage.groups.size(), -1), boxOfNode(stage.nodes.size(), -1);
  std::vector<std::vector<uint32_t>> childrenOf; ///< Of each open box; the stage's come first.
  std::vector<uint32_t> openBoxes;               ///< Outer ones first.
  std::vector<std::pair<uint32_t, int32_t>> waiting = {{0, -1}};
  std::vector<uint32_t> indexAmong; ///< Of a box among its siblings.
  auto keyOf = [&](const Box &box) { return box.isGroup ? stage.groups[box.id].first : box.id; };
  for (size_t next = 0; next < waiting.size(); ++next) {
    auto [group, parent] = waiting[next];
    std::vector<uint32_t> children;
    for (uint32_t inner : stage.groups[group].groups) {
      boxOfGroup[inner] = int32_t(view.boxes.size());
      children.push_back(uint32_t(view.boxes.size()));
      bool open = isOpen[inner];
      view.boxes.push_back({.isGroup = true, .isOpen = open, .id = inner, .parent = parent,
                            .width = nodeWidth(stage.groups[inner].name + " (00000)"), .height = kNodeHeight + 8});
      if (open)
        waiting.emplace_back(inner, int32_t(view.boxes.size() - 1));
    }
    for (uint32_t node : stage.groups[group].nodes) {
      boxOfNode[node] = int32_t(view.boxes.size());
      children.push_back(uint32_t(view.boxes.size()));
      view.boxes.push_back({.isGroup = false, .isOpen = false, .id = node, .parent = parent,
                            .width = nodeWidth(stage.nodes[node].label), .height = kNodeHeight});
    }
    std::ranges::sort(children, {}, [&](uint32_t box) { return keyOf(view.boxes[box]); });
    indexAmong.resize(view.boxes.size());
    for (uint32_t i = 0; i < children.size(); ++i)
      indexAmong[children[i]] = i;
    childrenOf.push_back(std::move(children));
    openBoxes.push_back(uint32_t(parent + 1)); // 0 is the stage.
  }
  // Which box shows a node: its own, or the outermost closed group around it.
  auto shown = [&](uint32_t node) {
    if (boxOfNode[node] >= 0)
      return uint32_t(boxOfNode[node]);
    uint32_t group = stage.nodes[node].group;
    while (boxOfGroup[group] < 0)
      group = stage.groups[group].parent;
    return uint32_t(boxOfGroup[group]);
  };
  std::vector<uint32_t> depth(view.boxes.size(), 0);
  for (uint32_t box = 0; box < view.boxes.size(); ++box)
    if (view.boxes[box].parent >= 0)
      depth[box] = depth[size_t(view.boxes[box].parent)] + 1;
  std::vector<uint32_t> shownBy(stage.nodes.size());
  for (uint32_t node = 0; node < stage.nodes.size(); ++node)
    shownBy[node] = shown(node);

  std::vector<uint64_t> pairs; ///< Both ends in one number, to be sorted.
  for (uint32_t node = 0; node < stage.nodes.size(); ++node)
    for (auto [source, result] : stage.nodes[node].inputs)
      if (uint32_t from = shownBy[source], to = shownBy[node]; from != to)
        pairs.push_back(uint64_t(from) << 32 | to);
  std::ranges::sort(pairs);
  for (uint64_t pair : pairs) {
    Edge edge{uint32_t(pair >> 32), uint32_t(pair), 0};
    if (view.edges.empty() || view.edges.back().from != edge.from || view.edges.back().to != edge.to)
      view.edges.push_back(edge);
    ++view.edges.back().count;
  }

  // Layers of each open group; an edge counts where its ends part.
  std::vector<Layers> layers;
  layers.reserve(childrenOf.size());
  std::vector<uint32_t> layerOf(view.boxes.size() + 1, 0);
  for (size_t i = 0; i < childrenOf.size(); ++i) {
    layerOf[openBoxes[i]] = uint32_t(i);
    std::vector<uint32_t> keys;
    for (uint32_t box : childrenOf[i])
      keys.push_back(keyOf(view.boxes[box]));
    layers.emplace_back(view.boxes, childrenOf[i], std::move(keys));
  }
  pairs.clear();
  for (const Edge &edge : view.edges) {
    uint32_t from = edge.from, to = edge.to;
    while (depth[from] > depth[to])
      from = uint32_t(view.boxes[from].parent);
    while (depth[to] > depth[from])
      to = uint32_t(view.boxes[to].parent);
    while (view.boxes[from].parent != view.boxes[to].parent) {
      from = uint32_t(view.boxes[from].parent);
      to = uint32_t(view.boxes[to].parent);
    }
    if (from != to)
      pairs.push_back(uint64_t(from) << 32 | to);
  }
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  for (uint64_t pair : pairs) {
    uint32_t from = uint32_t(pair >> 32), to = uint32_t(pair);
    layers[layerOf[size_t(view.boxes[from].parent + 1)]].addEdge(indexAmong[from], indexAmong[to]);
  }
  // From the inside out, since a group is as large as what stands in it.
  for (size_t i = childrenOf.size(); i-- > 0;) {
    auto [width, height] = layers[i].place();
    if (openBoxes[i] == 0) {
      view.width = width;
      view.height = height;
    } else {
      Box &box = view.boxes[openBoxes[i] - 1];
      box.width = std::max(width + 2 * kPadding, nodeWidth(stage.groups[box.id].name) + 40);
      box.height = height + kTitle + 2 * kPadding;
    }
  }
  // And positions from the outside in: a group's box stands before those in it.
  for (Box &box : view.boxes)
    if (box.parent >= 0) {
      const Box &outer = view.boxes[size_t(box.parent)];
      box.x += outer.x + kPadding;
      box.y += outer.y + kPadding + kTitle;
    }
  return view;
}

} // namespace cupel::results::graph
