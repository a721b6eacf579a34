#include "cupel/testbench/worker/ReferenceDevice.h"

#include "cupel/reference/Plan.h"

#include <mlir/IR/BuiltinOps.h>

namespace cupel::testbench::worker {

namespace {

using tensor::Tensor;

class ReferenceExecutable : public Executable {
public:
  ReferenceExecutable(std::unique_ptr<reference::Plan> plan, uint32_t replicas, uint32_t partitions)
      : plan(std::move(plan)), replicas(replicas), partitions(partitions) {}

  Result<std::vector<Tensor>> run(std::vector<Tensor> inputs, const Budget &budget) override {
    reference::RunOptions options;
    options.maxMemory = int64_t(budget.memoryBytes);
    options.timeoutSeconds = budget.secondsLeft();
    options.threads = int(budget.threads);
    options.seed = budget.seed;
    if (budget.wideSums)
      options.accumulate = reference::Accumulate::Wide;
    options.probeFolder = "."; // The test's own folder.
    reference::Run run(std::move(options));
    std::vector<reference::Value> arguments;
    for (Tensor &input : inputs)
      arguments.emplace_back(std::move(input));
    Result<std::vector<reference::Value>> results =
        plan->run(run, std::move(arguments), replicas, partitions);
    if (!results)
      return results.error();
    std::vector<Tensor> outputs;
    for (reference::Value &value : *results)
      if (value.isTensor())
        outputs.push_back(std::move(value.tensor()));
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
    auto module = mlir::cast<mlir::ModuleOp>(program.module);
    Result<std::unique_ptr<reference::Plan>> plan = reference::Plan::create(module);
    if (!plan)
      return plan.error().as(ErrorCode::Unsupported);
    return std::unique_ptr<Executable>(std::make_unique<ReferenceExecutable>(
        std::move(*plan), program.replicas, program.partitions));
  }
};

} // namespace

std::unique_ptr<Device> makeReferenceDevice() { return std::make_unique<ReferenceDevice>(); }

} // namespace cupel::testbench::worker
