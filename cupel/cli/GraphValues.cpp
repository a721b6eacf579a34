#include "cupel/cli/GraphValues.h"

#include "cupel/reference/Execute.h"
#include "cupel/reference/Plan.h"
#include "cupel/tensor/Convert.h"
#include "cupel/testbench/worker/ChosenInputs.h"
#include "cupel/testbench/worker/ProgramReader.h"

#include <algorithm>
#include <cmath>

namespace cupel::cli {

using namespace mlir;
using tensor::Tensor;

static void note(ValueStatistics &statistics, const Tensor &value) {
  Result<Tensor> wide = tensor::convert(value, tensor::DType::F64);
  if (!wide)
    return;
  Result<Tensor> dense = wide->contiguous();
  if (!dense)
    return;
  const double *data = dense->dataAs<double>();
  for (int64_t i = 0; i < dense->size(); ++i) {
    ++statistics.elements;
    if (!std::isfinite(data[i])) {
      ++statistics.notFinite;
      continue;
    }
    statistics.zeros += data[i] == 0;
    statistics.largest = std::max(statistics.largest, std::abs(data[i]));
    statistics.sum += data[i];
    statistics.squares += data[i] * data[i];
  }
}

Result<std::map<size_t, ValueStatistics>>
valuesOf(ModuleOp module, const StageGraph &graph, const std::string &name,
         const std::vector<std::pair<std::string, Tensor>> &weights, uint64_t seed) {
  using namespace testbench::worker;
  ProgramReader::Read read;
  read.module = module.clone();
  if (Status described = ProgramReader::describe(read, name); !described)
    return described.error();
  ChosenInputs chosen(read.program);
  std::vector<reference::Value> arguments;
  size_t inputs = read.program.arguments.size() - std::min(weights.size(), read.program.arguments.size());
  for (size_t i = 0; i < read.program.arguments.size(); ++i) {
    if (i >= inputs) {
      arguments.emplace_back(weights[i - inputs].second);
      continue;
    }
    Result<Tensor> value = chosen.make(i, seed, 0);
    if (!value)
      return value.error();
    arguments.emplace_back(std::move(*value));
  }
  Result<std::unique_ptr<reference::Plan>> plan = reference::Plan::create(module, "");
  if (!plan)
    return plan.error();
  std::map<size_t, ValueStatistics> found;
  reference::RunOptions options;
  options.seed = seed;
  std::mutex mutex;
  options.trace = [&](const reference::Step &step, std::span<const reference::Value> values) {
    auto node = graph.numbers.find(step.op);
    if (node == graph.numbers.end() || values.empty() || !values.front().isTensor())
      return;
    std::lock_guard lock(mutex);
    note(found[node->second], values.front().tensor());
  };
  options.print = [](const std::string &) {};
  reference::Run run(std::move(options));
  Result<std::vector<reference::Value>> results = (*plan)->run(run, std::move(arguments));
  if (!results)
    return results.error();
  return found;
}

} // namespace cupel::cli
