#include "cupel/testbench/worker/ReferenceDevice.h"

#include "cupel/reference/Plan.h"

#include <algorithm>
#include <iterator>
#include <mlir/IR/BuiltinOps.h>

namespace cupel::testbench::worker {

namespace {

using tensor::Tensor;

reference::RunOptions optionsFor(const Budget &budget) {
  reference::RunOptions options;
  options.maxMemory = int64_t(budget.memoryBytes);
  options.timeoutSeconds = budget.secondsLeft();
  options.threads = int(budget.threads);
  options.seed = budget.seed;
  if (budget.wideSums)
    options.accumulate = reference::Accumulate::Wide;
  options.jitter = budget.jitter;
  options.probeFolder = "."; // The test's own folder.
  return options;
}

/// The tensors of every process, one list after another.
Result<TensorLists> runPlan(const reference::Plan &plan, TensorLists inputs, uint32_t replicas,
                            uint32_t partitions, const Budget &budget) {
  reference::Run run(optionsFor(budget));
  std::vector<std::vector<reference::Value>> arguments;
  for (std::vector<Tensor> &list : inputs) {
    std::vector<reference::Value> &own = arguments.emplace_back();
    for (Tensor &input : list)
      own.emplace_back(std::move(input));
  }
  inputs.clear();
  auto results = plan.runEach(run, std::move(arguments), replicas, partitions);
  if (!results)
    return results.error();
  TensorLists outputs;
  for (std::vector<reference::Value> &list : *results) {
    std::vector<Tensor> &own = outputs.emplace_back();
    for (reference::Value &value : list)
      if (value.isTensor())
        own.push_back(std::move(value.tensor()));
  }
  return outputs;
}

class ReferenceExecutable : public Executable {
public:
  ReferenceExecutable(std::unique_ptr<reference::Plan> plan, uint32_t replicas, uint32_t partitions)
      : plan(std::move(plan)), replicas(replicas), partitions(partitions) {}

  Result<std::vector<Tensor>> run(TensorLists inputs, const Budget &budget) override {
    Result<TensorLists> results = runPlan(*plan, inputs, replicas, partitions, budget);
    if (!results)
      return results.error();
    std::vector<Tensor> outputs;
    for (std::vector<Tensor> &list : *results)
      std::ranges::move(list, std::back_inserter(outputs));
    return outputs;
  }

private:
  std::unique_ptr<reference::Plan> plan;
  uint32_t replicas, partitions;
};

class ReferenceDevice : public Device {
public:
  std::string name() const override { return "reference"; }
  bool isReference() const override { return true; }

  Result<std::unique_ptr<Executable>> compile(const Program &program, const Budget &) override {
    Result<std::unique_ptr<reference::Plan>> plan = planFor(program);
    if (!plan)
      return plan.error();
    return std::unique_ptr<Executable>(std::make_unique<ReferenceExecutable>(
        std::move(*plan), program.replicas, program.partitions));
  }

  Result<RunWorkload> load(const workload::Workload &workload, const Program &program,
                           const Budget &) override {
    const workload::CompileOptions &options = workload.options;
    // Pieces of whole tensors have no meaning to a program that is not told of devices.
    if (options.useSpmd && options.partitions > 1 && program.partitions == 1)
      return Error{ErrorCode::Unsupported,
                   "the program computes with whole tensors of which devices hold pieces; the "
                   "reference does not partition"};
    Result<std::unique_ptr<reference::Plan>> plan = planFor(program);
    if (!plan)
      return plan.error();
    std::shared_ptr<reference::Plan> shared = std::move(*plan);
    return RunWorkload([shared, types = program.arguments, replicas = uint32_t(options.replicas),
                        partitions = uint32_t(options.partitions)](TensorLists inputs,
                                                                   const Budget &budget) {
      for (std::vector<Tensor> &list : inputs)
        for (size_t i = 0; i < std::min(list.size(), types.size()); ++i)
          if (types[i].element.quantization && list[i].dtype() == types[i].element.storage)
            list[i] = list[i].withElementType(types[i].element);
      Result<TensorLists> results =
          runPlan(*shared, std::move(inputs), replicas, partitions, budget);
      // Of quantized types, devices give the stored integers.
      if (results)
        for (std::vector<Tensor> &list : *results)
          for (Tensor &value : list)
            if (value.elementType().quantization)
              value = value.withElementType(value.dtype());
      return results;
    });
  }

private:
  static Result<std::unique_ptr<reference::Plan>> planFor(const Program &program) {
    auto plan = reference::Plan::create(mlir::cast<mlir::ModuleOp>(program.module));
    if (!plan)
      return plan.error().as(ErrorCode::Unsupported);
    return plan;
  }
};

} // namespace

std::unique_ptr<Device> makeReferenceDevice() { return std::make_unique<ReferenceDevice>(); }

} // namespace cupel::testbench::worker
