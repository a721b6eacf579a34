#include "cupel/compiler/backends/reference/ReferenceExecutable.h"

#include "cupel/compiler/backends/Backend.h"
#include "cupel/compiler/backends/reference/Pieces.h"
#include "cupel/compiler/program/ProgramText.h"
#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Grid.h"
#include "cupel/runtime/CheckArguments.h"

#include <cstring>

namespace cupel::compiler {

using namespace mlir;
using reference::GridProcess;
using runtime::ProcessTensors;
using runtime::ProgramInfo;
using runtime::ValueInfo;
using tensor::Tensor;

/// Whether anything in the program needs other devices at the same time.
static bool hasMeetings(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        bool isMeeting = op->hasTrait<stablehlo::Collective>() ||
                         op->hasTrait<stablehlo::ActsOutside>() ||
                         isa<sdy::ManualComputationOp>(op);
        if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
          isMeeting = call.getHasSideEffect() ||
                      !call.getCallTargetName().starts_with("lapack_"); // Who knows.
        return isMeeting ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

ReferenceExecutable::ReferenceExecutable(std::shared_ptr<DeviceProgram> given,
                                         std::unique_ptr<reference::Plan> planned)
    : program(std::move(given)), plan(std::move(planned)), meets(hasMeetings(*program->module)) {}

std::string ReferenceExecutable::text() const { return programText(*program); }

std::string ReferenceExecutable::serialize() const { return sourceForm(*program); }

static void addRange(const Tensor &tensor, std::vector<std::span<const std::byte>> &ranges) {
  if (tensor.size() && tensor.isContiguous())
    ranges.push_back({tensor.data(), static_cast<size_t>(tensor.byteSize())});
}

Result<Tensor> ReferenceExecutable::finish(Tensor tensor, std::span<const Range> arguments) const {
  // Hosts count on results being memory of their own, not that of arguments.
  bool isArgument =
      tensor.size() && !tensor.mutableData() && std::ranges::any_of(arguments, [&](Range range) {
        return tensor.data() >= range.data() && tensor.data() < range.data() + range.size();
      });
  if (isArgument && tensor.isContiguous()) {
    Result<Tensor> copy =
        Tensor::uninitialized(tensor.elementType(), {tensor.shape().begin(), tensor.shape().end()});
    if (!copy)
      return copy.error().as(ErrorCode::OutOfMemory);
    std::memcpy(copy->mutableData(), tensor.data(), tensor.byteSize());
    tensor = std::move(*copy);
  } else if (!tensor.isContiguous()) {
    Result<Tensor> copy = tensor.contiguous();
    if (!copy)
      return copy.error().as(ErrorCode::OutOfMemory);
    tensor = std::move(*copy);
  }
  if (tensor.elementType().quantization)
    tensor = tensor.withElementType(tensor.dtype());
  if (tensor.mutableData() || tensor.size() == 0)
    return tensor;
  // Shared with an argument, another result or a constant of the program: all of these live on.
  struct Keep {
    Tensor tensor;
    std::shared_ptr<const void> executable;
  };
  auto keep = std::make_shared<Keep>(Keep{tensor, shared_from_this()});
  std::span<const std::byte> bytes(tensor.data(), tensor.byteSize());
  Result<Tensor> lasting =
      Tensor::borrow(tensor.elementType(), {tensor.shape().begin(), tensor.shape().end()}, bytes,
                     std::shared_ptr<const void>(keep, keep.get()));
  if (!lasting)
    return lasting.error().as(ErrorCode::Internal);
  return std::move(*lasting);
}

reference::Value ReferenceExecutable::enter(Tensor tensor, size_t argument) const {
  const ValueInfo &expected = info().arguments[argument];
  if (expected.isToken)
    return reference::Value::Token();
  if (expected.type.quantization)
    return tensor.withElementType(expected.type);
  return tensor;
}

/// What the first device that failed said.
static Error failureOf(reference::Run &run, const Status &status) {
  return run.failure().value_or(status.error());
}

reference::RunOptions ReferenceExecutable::runOptions(const std::atomic<bool> *stop) const {
  reference::RunOptions run;
  run.stop = stop;
  run.accumulate = program->options.wideAccumulation ? reference::Accumulate::Wide
                                                     : reference::Accumulate::Native;
  return run;
}

static std::vector<Tensor> tensorsOf(std::vector<reference::Value> values) {
  std::vector<Tensor> tensors;
  tensors.reserve(values.size());
  for (reference::Value &value : values)
    tensors.push_back(value.isTensor() ? std::move(value.tensor()) : Tensor());
  return tensors;
}

Result<ProcessTensors> ReferenceExecutable::runAlone(Tensors arguments,
                                                     const std::atomic<bool> *stop) const {
  std::vector<reference::Value> values, results;
  std::vector<Range> ranges;
  for (const Tensor &argument : arguments)
    addRange(argument, ranges);
  values.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    values.push_back(enter(std::move(arguments[i]), i));
  arguments.clear();
  reference::Run run(runOptions(stop));
  reference::Grid grid(1, 1);
  GridProcess process{run, &grid};
  if (Status status = callFunction(process, plan->entry(), std::move(values), results); !status)
    return failureOf(run, status);
  std::vector<Tensors> all;
  all.push_back(tensorsOf(std::move(results)));
  return handOut(std::move(all), ranges);
}

Result<ProcessTensors> ReferenceExecutable::runGrid(ProcessTensors arguments,
                                                    const std::atomic<bool> *stop) const {
  View view = program->devices.view;
  bool perDevice = view != View::Global && info().partitions > 1;
  auto partitions = static_cast<uint32_t>(perDevice ? info().partitions : 1);
  reference::Grid grid(static_cast<uint32_t>(info().replicas), partitions);
  // What each replica starts from, or each device.
  bool isShared = perDevice && view != View::Own;
  std::vector<Tensors> starts;
  if (!program->devices.isGathered())
    starts = std::move(arguments);
  for (auto replica = static_cast<int64_t>(starts.size()); replica < info().replicas; ++replica) {
    Result<Tensors> wholes = gather(info(), arguments, replica);
    if (!wholes)
      return wholes.error();
    starts.push_back(std::move(*wholes));
  }
  arguments.clear();
  std::vector<Range> ranges;
  for (const Tensors &own : starts)
    for (const Tensor &tensor : own)
      addRange(tensor, ranges);
  reference::Run run(runOptions(stop));
  std::vector<std::vector<reference::Value>> outputs(grid.size());
  auto work = [&](GridProcess &process) -> Status {
    Tensors &own = starts[isShared ? process.replica : grid.id(process)];
    std::vector<reference::Value> values;
    for (size_t i = 0; i < own.size(); ++i)
      values.push_back(enter(isShared ? own[i] : std::move(own[i]), i));
    return callFunction(process, plan->entry(), std::move(values), outputs[grid.id(process)]);
  };
  if (view == View::Own && !meets) {
    // One device after the other, which is sooner done than threads are made.
    for (uint32_t process = 0; process < grid.size(); ++process) {
      GridProcess one{run, &grid, process / partitions, process % partitions};
      if (Status status = work(one); !status)
        return failureOf(run, status);
    }
  } else if (!grid.run(run, work)) {
    return failureOf(run, Error{"a device failed"});
  }
  std::vector<Tensors> computed;
  for (size_t process = 0; process < outputs.size(); process += isShared ? partitions : 1)
    computed.push_back(tensorsOf(std::move(outputs[process])));
  outputs.clear();
  return handOut(std::move(computed), ranges);
}

Result<ProcessTensors> ReferenceExecutable::handOut(std::vector<Tensors> computed,
                                                    std::span<const Range> arguments) const {
  auto finished = [&](Tensor tensor) { return finish(std::move(tensor), arguments); };
  if (program->devices.isGathered())
    return scatter(info(), std::move(computed), finished);
  ProcessTensors results(info().processCount());
  for (size_t process = 0; process < computed.size(); ++process)
    for (Tensor &tensor : computed[process]) {
      Result<Tensor> one = finished(std::move(tensor));
      if (!one)
        return one.error();
      results[process].push_back(std::move(*one));
    }
  return results;
}

Result<ProcessTensors> ReferenceExecutable::execute(ProcessTensors arguments,
                                                    const std::atomic<bool> *stop) const {
  if (Status status = runtime::checkArguments(info(), arguments); !status)
    return status.error();
  if (info().processCount() == 1)
    return runAlone(std::move(arguments[0]), stop);
  if (info().replicas == 1 && program->devices.view == View::Global) {
    Result<Tensors> wholes = gather(info(), arguments, 0);
    if (!wholes)
      return wholes.error();
    arguments.clear();
    return runAlone(std::move(*wholes), stop);
  }
  return runGrid(std::move(arguments), stop);
}

} // namespace cupel::compiler
