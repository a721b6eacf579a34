#include "cupel/results/graph/GroupValues.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace cupel::results::graph {
namespace {

bool isGoodNews(const std::string &word) {
  constexpr std::string_view kGood[] = {"right", "taken", "device", "compiled", "executed"};
  return std::ranges::find(kGood, word) != std::end(kGood);
}

/// A NaN is worse than any number and stays.
double joined(Together together, double a, double b) {
  if (std::isnan(a) || together == Together::Sum)
    return a + b;
  bool takesOther = std::isnan(b) || (together == Together::Most ? b > a : b < a);
  return takesOther ? b : a;
}

} // namespace

Together togetherOf(const Overlay &overlay) {
  constexpr std::string_view kSummed[] = {"s", "B", "flop", "elements", "operations"};
  if (std::ranges::find(kSummed, overlay.unit) != std::end(kSummed))
    return Together::Sum;
  return overlay.unit == "PCC" ? Together::Least : Together::Most;
}

std::string_view name(Together together) {
  switch (together) {
  case Together::Sum: return "sum";
  case Together::Most: return "most";
  case Together::Least: return "least";
  }
  return "";
}

GroupValues groupValuesOf(const GraphStage &stage, const Overlay &overlay) {
  GroupValues values;
  values.numbers.resize(stage.groups.size());
  values.words.resize(stage.groups.size());
  Together together = togetherOf(overlay);
  // Where nothing is called good, words name things and no verdicts.
  bool isVerdict = std::ranges::any_of(overlay.words, isGoodNews);
  std::vector<std::map<std::string, uint64_t>> counts(overlay.isNumber ? 0 : stage.groups.size());
  for (uint32_t node = 0; node < stage.nodes.size(); ++node) {
    if (overlay.isNumber ? !overlay.numbers[node] : overlay.words[node].empty())
      continue;
    for (uint32_t group = stage.nodes[node].group;; group = stage.groups[group].parent) {
      if (!overlay.isNumber)
        ++counts[group][overlay.words[node]];
      else if (std::optional<double> &number = values.numbers[group])
        number = joined(together, *number, *overlay.numbers[node]);
      else
        number = overlay.numbers[node];
      if (group == 0)
        break;
    }
  }
  for (size_t group = 0; group < counts.size(); ++group) {
    auto weight = [&](const auto &one) { return std::pair(isVerdict && !isGoodNews(one.first), one.second); };
    if (!counts[group].empty())
      values.words[group] = std::ranges::max_element(counts[group], {}, weight)->first;
  }
  return values;
}

} // namespace cupel::results::graph
