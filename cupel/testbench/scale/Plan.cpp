#include "cupel/testbench/scale/Plan.h"
#include "cupel/support/JsonValues.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <tuple>

namespace cupel::testbench::scale {
namespace {

/// Where nothing at all was measured.
constexpr double kGuessSeconds = 1;
/// A class asks for at least so much memory, and for twice or four times as much: tests that need
/// less go with any other.
constexpr uint64_t kLeastMemory = uint64_t(4) << 30;

double medianOf(std::vector<double> values) {
  if (values.empty())
    return kGuessSeconds;
  auto middle = values.begin() + long(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Expected seconds of every test.
std::vector<double> expectedSeconds(const std::vector<PlannedTest> &tests) {
  std::map<std::string_view, std::vector<double>> measured;
  std::vector<double> all;
  for (const PlannedTest &test : tests)
    if (test.seconds >= 0) {
      measured[test.kind].push_back(test.seconds);
      all.push_back(test.seconds);
    }
  double median = medianOf(std::move(all));
  std::map<std::string_view, double> medians;
  for (auto &[kind, values] : measured)
    medians[kind] = medianOf(std::move(values));
  std::vector<double> expected;
  expected.reserve(tests.size());
  for (const PlannedTest &test : tests) {
    auto found = medians.find(test.kind);
    expected.push_back(test.seconds >= 0          ? test.seconds
                       : found != medians.end() ? found->second
                                                : median);
  }
  return expected;
}

Resources resourcesOf(const PlannedTest &test) {
  Resources resources{std::max(1u, test.chips), 0};
  // A quarter more than was seen, rounded up to a power of two.
  uint64_t wanted = test.memoryBytes + test.memoryBytes / 4;
  if (wanted > kLeastMemory)
    for (resources.memoryBytes = kLeastMemory; resources.memoryBytes < wanted;)
      resources.memoryBytes *= 2;
  return resources;
}

/// Cuts the tests of a chunk, longest first, into blocks.
void cutIntoBlocks(Chunk &chunk, const std::vector<uint32_t> &tests,
                   const std::vector<double> &expected, double blockSeconds) {
  for (uint32_t test : tests) {
    if (chunk.blocks.empty() || chunk.blocks.back().seconds + expected[test] > blockSeconds)
      chunk.blocks.emplace_back();
    chunk.blocks.back().tests.push_back(test);
    chunk.blocks.back().seconds += expected[test];
    chunk.seconds += expected[test];
  }
}

/// Gives members from `next` on to `count` new parts, each to the one that has least, until they have
/// `seconds` together; equal ones in order, so that a plan is always the same.
void shareOut(const std::vector<uint32_t> &members, size_t &next,
              const std::vector<double> &expected, size_t count, double seconds,
              std::vector<std::vector<uint32_t>> &parts) {
  size_t first = parts.size();
  parts.resize(first + count);
  using Load = std::pair<double, size_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (size_t i = 0; i < count; ++i)
    loads.emplace(0, first + i);
  for (double given = 0; next < members.size() && given < seconds; ++next) {
    auto [load, part] = loads.top();
    loads.pop();
    parts[part].push_back(members[next]);
    loads.emplace(load + expected[members[next]], part);
    given += expected[members[next]];
  }
}

} // namespace

size_t Plan::blockCount() const {
  size_t count = 0;
  for (const Chunk &chunk : chunks)
    count += chunk.blocks.size();
  return count;
}

Plan makePlan(const std::vector<PlannedTest> &tests, const PlanOptions &options) {
  std::vector<double> expected = expectedSeconds(tests);
  std::map<Resources, std::vector<uint32_t>> classes;
  for (uint32_t i = 0; i < tests.size(); ++i)
    classes[resourcesOf(tests[i])].push_back(i);
  Plan plan;
  for (auto &[resources, members] : classes) {
    uint32_t place = uint32_t(plan.classes.size());
    plan.classes.push_back(resources);
    double total = 0;
    for (uint32_t test : members)
      total += expected[test];
    // As many as are worth it; several for each slot, so that one which starts late or dies leaves
    // the others something to steal, but no more than pay for their start.
    constexpr double kChunksASlot = 4;
    double wanted = std::floor(total / std::max(options.leastSeconds, 1e-9));
    if (options.slots)
      wanted = std::min(wanted, kChunksASlot * options.slots);
    size_t count = size_t(std::clamp(wanted, 1.0, double(std::max(1u, options.mostChunks))));
    // What takes long begins early: a machine that dies late then loses little, and what is left at
    // the end is small enough to be shared out. Who knows how long the unknown ones take.
    std::ranges::sort(members, std::greater<>(), [&](uint32_t i) {
      return std::tuple(tests[i].seconds < 0, expected[i], UINT32_MAX - i);
    });
    size_t atOnce = options.slots ? std::min<size_t>(options.slots, count) : count;
    std::vector<std::vector<uint32_t>> parts;
    for (size_t next = 0, made = 0; made < count; made += atOnce) {
      // So many chunks run side by side, each with its share of what is left.
      size_t side = std::min(atOnce, count - made);
      double left = 0;
      for (size_t i = next; i < members.size(); ++i)
        left += expected[members[i]];
      bool isLast = made + side == count;
      shareOut(members, next, expected, side,
               isLast ? std::numeric_limits<double>::infinity()
                      : left * double(side) / double(count - made),
               parts);
    }
    for (const std::vector<uint32_t> &part : parts) {
      if (part.empty())
        continue;
      Chunk &chunk = plan.chunks.emplace_back();
      chunk.resources = place;
      cutIntoBlocks(chunk, part, expected, options.blockSeconds);
    }
  }
  return plan;
}

std::string toJson(const Plan &plan) {
  nlohmann::json classes = nlohmann::json::array(), chunks = nlohmann::json::array();
  for (const Resources &resources : plan.classes)
    classes.push_back({{"chips", resources.chips}, {"memory_bytes", resources.memoryBytes}});
  for (const Chunk &chunk : plan.chunks) {
    nlohmann::json blocks = nlohmann::json::array();
    for (const Block &block : chunk.blocks)
      blocks.push_back({{"seconds", block.seconds}, {"tests", block.tests}});
    chunks.push_back({{"class", chunk.resources}, {"blocks", std::move(blocks)}});
  }
  return nlohmann::json({{"classes", std::move(classes)}, {"chunks", std::move(chunks)}}).dump();
}

Result<Plan> planFromJson(std::string_view text) {
  using json_values::list;
  using json_values::take;
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Error none{"not a plan of a run: a part is missing, or is of another kind"};
  const nlohmann::json *classes = list(json, "classes"), *chunks = list(json, "chunks");
  if (!classes || !chunks)
    return none;
  Plan plan;
  for (const nlohmann::json &each : *classes) {
    Resources &resources = plan.classes.emplace_back();
    if (!take(each, "chips", resources.chips) || !take(each, "memory_bytes", resources.memoryBytes))
      return none;
  }
  for (const nlohmann::json &each : *chunks) {
    Chunk &chunk = plan.chunks.emplace_back();
    const nlohmann::json *blocks = list(each, "blocks");
    if (!blocks || !take(each, "class", chunk.resources))
      return none;
    if (chunk.resources >= plan.classes.size())
      return Error{"a chunk of the plan is of no class"};
    for (const nlohmann::json &one : *blocks) {
      Block &block = chunk.blocks.emplace_back();
      if (!take(one, "seconds", block.seconds) || !take(one, "tests", block.tests))
        return none;
      chunk.seconds += block.seconds;
    }
  }
  return plan;
}

} // namespace cupel::testbench::scale
