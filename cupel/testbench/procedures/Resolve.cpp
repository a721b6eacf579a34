#include "cupel/testbench/procedures/Resolve.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>
#include <set>

namespace cupel::testbench::procedures {
namespace {

bool isKey(const std::string &text) {
  static const re2::RE2 kKey(
      R"([a-z0-9_]+/.+-(single_device|data_parallel|tensor_parallel)-(training|inference))");
  return re2::RE2::FullMatch(text, kKey);
}

/// As model_info.name has it.
std::string infoName(const TestItem &item) {
  return fmt::format("{}_{}_{}_{}_{}", item.framework, item.modelName,
                     item.variant.empty() ? "default" : item.variant, item.task, item.source);
}

} // namespace

Result<Resolved> resolve(const Inputs &inputs, const std::string &test) {
  auto unknown = [&] {
    return Error{
        fmt::format("Could not resolve {} to a YAML entry or loader. Provide either the YAML "
                    "key or the model_info.name.",
                    test)};
  };
  if (isKey(test)) {
    auto found = std::ranges::find(inputs.items, test, &TestItem::id);
    if (found == inputs.items.end() || !inputs.configuration->find(test))
      return unknown();
    if (found->runMode != "training")
      return Error{fmt::format("{} is an inference test; this is for training tests", test)};
    return Resolved{test, &*found};
  }
  std::vector<const TestItem *> candidates;
  std::set<std::string> loaders;
  for (const TestItem &item : inputs.items)
    if (item.runMode == "training" && infoName(item) == test) {
      candidates.push_back(&item);
      loaders.insert(item.modelPath);
    }
  if (loaders.size() > 1)
    return Error{fmt::format("{} is the name of several models: {}; give the YAML key", test,
                             fmt::join(loaders, ", "))};
  if (candidates.empty() || !inputs.configuration->find(candidates[0]->id))
    return unknown();
  return Resolved{candidates[0]->id, candidates[0]};
}

std::vector<const TestItem *> trainingEntries(const Inputs &inputs, const std::string &modelPath) {
  std::vector<const TestItem *> found;
  for (const TestItem &item : inputs.items)
    if (item.modelPath == modelPath && item.runMode == "training" &&
        inputs.configuration->find(item.id))
      found.push_back(&item);
  return found;
}

} // namespace cupel::testbench::procedures
