#include "cupel/results/graph/Graph.h"
#include "cupel/results/graph/GroupValues.h"
#include "cupel/results/graph/Layout.h"
#include "cupel/results/graph/ModelExplorer.h"

#include <chrono>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

using namespace cupel;
using namespace cupel::results::graph;

namespace {

/// `count` nodes, each reading the one before and one further up; in `stages` x `blocks` groups, or none.
GraphStage chain(uint32_t count, uint32_t stages = 0, uint32_t blocks = 0) {
  GraphStage stage;
  stage.name = "stablehlo";
  std::vector<std::vector<std::string>> paths(count);
  for (uint32_t i = 0; i < count; ++i) {
    Node &node = stage.nodes.emplace_back();
    node.op = node.label = "op";
    if (i > 0)
      node.inputs.emplace_back(i - 1, 0);
    if (i > 7)
      node.inputs.emplace_back(i - i % 7 - 1, 0);
    if (stages)
      paths[i] = {"stage " + std::to_string(uint64_t(i) * stages / count), "block " + std::to_string(uint64_t(i) * stages * blocks / count % blocks)};
  }
  makeGroups(stage, paths);
  return stage;
}

bool overlaps(const Box &a, const Box &b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/// What the whole of a stage of four nodes shows where they have these values.
GroupValues ofAll(Overlay overlay) {
  return groupValuesOf(chain(4), overlay);
}

TEST(GroupValues, NeverLookBetterThanWhatIsInTheGroup) {
  std::vector<std::optional<double>> numbers = {0.5, std::nullopt, 0.25, 0.75};
  auto whole = [&](const char *unit) { return *ofAll({.name = "", .unit = unit, .isNumber = true, .numbers = numbers, .words = {}}).numbers[0]; };
  EXPECT_EQ(whole("s"), 1.5);
  EXPECT_EQ(whole("PCC"), 0.25);
  EXPECT_EQ(whole("relative L2"), 0.75);
  EXPECT_EQ(whole(""), 0.75);
  numbers[0] = std::nan("");
  EXPECT_TRUE(std::isnan(whole("PCC")));
  numbers = {0.5, std::nan(""), 0.25, 0.75};
  EXPECT_TRUE(std::isnan(whole("relative L2")));
  EXPECT_FALSE(ofAll({.name = "", .unit = "s", .isNumber = true, .numbers = std::vector<std::optional<double>>(4), .words = {}}).numbers[0]);

  auto word = [&](std::vector<std::string> words) { return ofAll({.name = "", .unit = "", .isNumber = false, .numbers = {}, .words = std::move(words)}).words[0]; };
  EXPECT_EQ(word({"right", "right", "wrong", "right"}), "wrong");
  EXPECT_EQ(word({"device", "reference (fallback)", "device", ""}), "reference (fallback)");
  EXPECT_EQ(word({"right", "right", "", "right"}), "right");
  EXPECT_EQ(word({"row", "product", "product", ""}), "product");
  EXPECT_EQ(word({"", "", "", ""}), "");
}

/// What must be true of every view.
void check(const GraphStage &stage, const View &view) {
  uint32_t shown = 0;
  for (size_t i = 0; i < view.boxes.size(); ++i) {
    const Box &box = view.boxes[i];
    ASSERT_GT(box.width, 0);
    if (!box.isGroup)
      ++shown;
    else if (!box.isOpen)
      shown += stage.groups[box.id].count;
    if (box.parent >= 0) {
      ASSERT_LT(size_t(box.parent), i);
      const Box &outer = view.boxes[size_t(box.parent)];
      EXPECT_GE(box.x, outer.x);
      EXPECT_GE(box.y, outer.y);
      EXPECT_LE(box.x + box.width, outer.x + outer.width + 0.5F);
      EXPECT_LE(box.y + box.height, outer.y + outer.height + 0.5F);
    }
  }
  EXPECT_EQ(shown, stage.nodes.size()) << "every node is shown once, or a closed group stands for it";
  for (const Edge &edge : view.edges)
    EXPECT_NE(edge.from, edge.to);
}

} // namespace

TEST(Graph, NoGroupHasTooManyThingsSideBySide) {
  for (uint32_t count : {1U, 149U, 151U, 5'000U, 50'000U}) {
    GraphStage stage = chain(count);
    std::set<uint32_t> nodes;
    for (const Group &group : stage.groups) {
      EXPECT_LE(group.nodes.size() + group.groups.size(), kMostTogether + 50) << count;
      nodes.insert(group.nodes.begin(), group.nodes.end());
    }
    EXPECT_EQ(nodes.size(), count);
    EXPECT_EQ(stage.groups[0].count, count);
    for (uint32_t i = 0; i < count; ++i)
      ASSERT_TRUE(std::ranges::count(stage.groups[stage.nodes[i].group].nodes, i)) << i;
  }
}

TEST(Layout, PutsReadersBelowAndKeepsBoxesApart) {
  GraphStage stage = chain(60);
  View view = layOut(stage, std::vector<bool>(stage.groups.size(), false));
  check(stage, view);
  ASSERT_EQ(view.boxes.size(), 60u);
  for (const Edge &edge : view.edges)
    EXPECT_LT(view.boxes[edge.from].y, view.boxes[edge.to].y);
  for (size_t i = 0; i < view.boxes.size(); ++i)
    for (size_t j = i + 1; j < view.boxes.size(); ++j)
      EXPECT_FALSE(overlaps(view.boxes[i], view.boxes[j])) << i << " " << j;
}

TEST(Layout, OpensAndClosesGroups) {
  GraphStage stage = chain(4'000, 4, 10);
  std::vector<bool> open(stage.groups.size(), false);
  View closed = layOut(stage, open);
  check(stage, closed);
  EXPECT_EQ(closed.boxes.size(), 4u);
  EXPECT_EQ(closed.edges.size(), 3u);
  open[closed.boxes[1].id] = true;
  View one = layOut(stage, open);
  check(stage, one);
  EXPECT_EQ(one.boxes.size(), 14u);
  for (size_t i = 0; i < one.boxes.size(); ++i)
    for (size_t j = i + 1; j < one.boxes.size(); ++j)
      if (one.boxes[i].parent == one.boxes[j].parent) {
        EXPECT_FALSE(overlaps(one.boxes[i], one.boxes[j]));
      }
  std::vector<bool> all(stage.groups.size(), true);
  View whole = layOut(stage, all);
  check(stage, whole);
  EXPECT_EQ(whole.boxes.size(), stage.nodes.size() + stage.groups.size() - 1);
}

TEST(Layout, FiftyThousandNodesTakeLittleTime) {
  for (GraphStage stage : {chain(50'000), chain(50'000, 20, 50)}) {
    std::vector<bool> all(stage.groups.size(), true);
    double best = 1e9;
    for (int turn = 0; turn < 3; ++turn) {
      auto begin = std::chrono::steady_clock::now();
      View view = layOut(stage, all);
      best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
      EXPECT_GE(view.boxes.size(), 50'000u);
    }
    RecordProperty("milliseconds", std::to_string(best));
#if !defined(CUPEL_SANITIZED)
    EXPECT_LT(best, 500); // Some 50 ms on a machine that does nothing else.
#endif
  }
}

TEST(Graph, ReadsWhatTheWorkerWritesAndRefusesTheRest) {
  Result<Graph> graph = readGraph(R"({"schema":"cupel-graph-1","file":"a.mlir","stages":[{"name":"stablehlo","title":"StableHLO","nodes":[
    {"op":"argument","label":"argument 0","group":[],"inputs":[],"types":["tensor<4xf32>"],"attributes":{},"place":"a.mlir:1:2","origins":["a.mlir:1:2"],"bytes":16},
    {"op":"x.add","label":"add","group":["layer","attention"],"inputs":[[0,0],[0,0]],"types":["tensor<4xf32>"],"attributes":{"k":"v"},"place":"a.mlir:2:2","origins":["a.mlir:2:2"],"bytes":16}],
    "overlays":[{"name":"time","unit":"s","values":[[1,0.5]]},{"name":"kernel","unit":"","values":[[1,"row"]]}]}]})");
  ASSERT_TRUE(graph) << graph.message();
  const GraphStage &stage = graph->stages[0];
  EXPECT_EQ(stage.path(stage.nodes[1].group), "layer/attention");
  EXPECT_EQ(stage.overlay("time")->numbers[1], 0.5);
  EXPECT_FALSE(stage.overlay("kernel")->isNumber);
  for (const char *wrong : {"", "{}", "[1]", R"({"schema":"cupel-graph-1"})",
                            R"({"schema":"cupel-graph-1","stages":[{"nodes":[{"op":"x","inputs":[[7,0]],"types":[],"attributes":{},"origins":[],"group":[]}]}]})"})
    EXPECT_FALSE(readGraph(wrong)) << wrong;

  nlohmann::json file = nlohmann::json::parse(modelExplorerGraphs(*graph));
  EXPECT_EQ(file["graphs"][0]["nodes"][1]["namespace"], "layer/attention");
  EXPECT_EQ(file["graphs"][0]["nodes"][1]["incomingEdges"][0]["sourceNodeId"], "0");
  EXPECT_EQ(file["graphs"][0]["nodes"][1]["outputsMetadata"][0]["attrs"][0]["value"], "tensor<4xf32>");
  nlohmann::json data = nlohmann::json::parse(modelExplorerOverlay(*graph, "time"));
  EXPECT_EQ(data["stablehlo"]["results"]["1"]["value"], 0.5);
  EXPECT_EQ(data["stablehlo"]["gradient"].size(), 2u);
  EXPECT_EQ(modelExplorerOverlay(*graph, "nosuch"), "");
}
