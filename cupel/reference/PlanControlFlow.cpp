// if, case and while. A while whose values are all scalars is compiled as a whole; a run that is
// traced or jittered takes its steps one by one all the same.

#include "cupel/reference/Registry.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <cstring>

namespace cupel::reference {

using namespace mlir;
using tensor::DType;
using tensor::ElementType;
using tensor::Tensor;

namespace {

Status runBranch(GridProcess &process, StepArguments &arguments, const BlockPlan &branch) {
  std::vector<Value> results;
  if (Status status = runBlock(process, arguments.frame, branch, results); !status)
    return status;
  for (size_t i = 0; i < results.size(); ++i)
    arguments.set(i, std::move(results[i]));
  return {};
}

Result<StepFunction> planIf(Operation *op, Planning &planning) {
  Result<const BlockPlan *> yes = planning.region(op->getRegion(0));
  if (!yes)
    return yes.error();
  Result<const BlockPlan *> no = planning.region(op->getRegion(1));
  if (!no)
    return no.error();
  return StepFunction(
      [yes = *yes, no = *no](GridProcess &process, StepArguments &arguments) -> Status {
        bool condition = *arguments.tensor(0).dataAs<uint8_t>();
        return runBranch(process, arguments, condition ? *yes : *no);
      });
}

Result<StepFunction> planCase(Operation *op, Planning &planning) {
  std::vector<const BlockPlan *> branches;
  for (Region &region : op->getRegions()) {
    Result<const BlockPlan *> branch = planning.region(region);
    if (!branch)
      return branch.error();
    branches.push_back(*branch);
  }
  return StepFunction([branches](GridProcess &process, StepArguments &arguments) -> Status {
    int32_t index = *arguments.tensor(0).dataAs<int32_t>();
    if (index < 0 || index >= static_cast<int64_t>(branches.size()))
      index = static_cast<int32_t>(branches.size()) - 1;
    return runBranch(process, arguments, *branches[index]);
  });
}

/// A loop of which every value is a scalar: both regions are programs of one lane.
struct ScalarLoop {
  ElementProgram condition, body;
  std::vector<int> conditionCaptures, bodyCaptures; // Slots.
  std::vector<DType> types;

  Status run(GridProcess &process, StepArguments &arguments) const {
    // Two sets of values, which take turns.
    size_t count = types.size();
    std::vector<std::array<std::byte, 16>> memory(2 * count + 1);
    std::vector<void *> current(count), next(count);
    for (size_t i = 0; i < count; ++i) {
      current[i] = memory[i].data();
      next[i] = memory[count + i].data();
      std::memcpy(current[i], arguments.tensor(i).data(), info(types[i]).bytes);
    }
    auto capturesOf = [&](const std::vector<int> &slots) {
      std::vector<const void *> result;
      for (int slot : slots)
        result.push_back(arguments.frame[slot].tensor().data());
      return result;
    };
    std::vector<const void *> forCondition = capturesOf(conditionCaptures);
    std::vector<const void *> forBody = capturesOf(bodyCaptures);
    void *decision[] = {memory[2 * count].data()};
    int64_t size = static_cast<int64_t>(condition.size() + body.size()) + 1;
    constexpr int64_t kBatch = 1024;
    for (int64_t iteration = 0;; ++iteration) {
      if (iteration % kBatch == 0)
        if (Status status = process.run.step(iteration ? size * kBatch : size); !status)
          return status;
      condition.run(std::span<const void *const>(current.data(), count), forCondition, decision, 1);
      if (*static_cast<uint8_t *>(decision[0]) == 0)
        break;
      body.run(std::span<const void *const>(current.data(), count), forBody, next, 1);
      std::swap(current, next);
    }
    for (size_t i = 0; i < count; ++i) {
      Result<Tensor> result = Tensor::uninitialized(types[i], {});
      if (!result)
        return result.error();
      std::memcpy(result->mutableData(), current[i], info(types[i]).bytes);
      arguments.set(i, std::move(*result));
    }
    return {};
  }
};

std::shared_ptr<const ScalarLoop> compileScalarLoop(stablehlo::WhileOp loop, Planning &planning) {
  auto result = std::make_shared<ScalarLoop>();
  for (mlir::Type type : loop->getOperandTypes()) {
    std::optional<DType> scalar = ScalarCompiler::scalarType(type);
    if (!scalar)
      return nullptr;
    result->types.push_back(*scalar);
  }
  ScalarCompiler condition, body;
  if (!condition.region(loop.getCond()) || !body.region(loop.getBody()))
    return nullptr;
  for (mlir::Value value : condition.captures)
    result->conditionCaptures.push_back(planning.slot(value));
  for (mlir::Value value : body.captures)
    result->bodyCaptures.push_back(planning.slot(value));
  result->condition = std::move(condition.program);
  result->body = std::move(body.program);
  return result;
}

Result<StepFunction> planWhile(Operation *op, Planning &planning) {
  auto loop = cast<stablehlo::WhileOp>(op);
  auto scalar = compileScalarLoop(loop, planning);
  // Condition and body share their arguments; only the body may use them up.
  for (auto [condition, body] :
       llvm::zip(loop.getCond().getArguments(), loop.getBody().getArguments()))
    planning.alias(condition, planning.slot(body));
  Result<const BlockPlan *> condition = planning.region(loop.getCond(), /*keepArguments=*/true);
  if (!condition)
    return condition.error();
  Result<const BlockPlan *> body = planning.region(loop.getBody());
  if (!body)
    return body.error();
  return StepFunction([scalar, condition = *condition, body = *body](
                          GridProcess &process, StepArguments &arguments) -> Status {
    const RunOptions &options = process.run.options;
    if (scalar && !options.trace && !options.jitter.isOn())
      return scalar->run(process, arguments);
    Frame &frame = arguments.frame;
    for (size_t i = 0; i < arguments.size(); ++i)
      frame[body->arguments[i]] = arguments.take(i);
    std::vector<Value> results;
    while (true) {
      if (Status status = process.run.step(); !status)
        return status;
      if (Status status = runBlock(process, frame, *condition, results); !status)
        return status;
      if (!*results[0].tensor().dataAs<uint8_t>())
        break;
      if (Status status = runBlock(process, frame, *body, results); !status)
        return status;
      for (size_t i = 0; i < results.size(); ++i)
        frame[body->arguments[i]] = std::move(results[i]);
    }
    for (size_t i = 0; i < arguments.size(); ++i)
      arguments.set(i, std::move(frame[body->arguments[i]]));
    return {};
  });
}

} // namespace

void registerControlFlow(Registry &registry) {
  registry.add("stablehlo.if", planIf);
  registry.add("stablehlo.case", planCase);
  registry.add("stablehlo.while", planWhile);
}

} // namespace cupel::reference
