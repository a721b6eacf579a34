// Operations that fold with a region on scalars: reductions, windows and map.

#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Reductions.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/RoundingFacts.h"
#include "cupel/reference/Windows.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::reference {

using namespace mlir;
using tensor::ElementType;
using tensor::Tensor;

namespace {

/// N inputs and N initial values, promoted.
Status operandsFor(StepArguments &arguments, const RegionFunction &body,
                   std::vector<Tensor> &inputs, std::vector<Tensor> &inits) {
  size_t count = arguments.size() / 2;
  for (size_t i = 0; i < 2 * count; ++i) {
    Result<Tensor> operand = promoted(arguments.tensor(i), body.argumentTypes()[i % count]);
    if (!operand)
      return operand.error();
    (i < count ? inputs : inits).push_back(std::move(*operand));
  }
  return {};
}

Status setAll(StepArguments &arguments, Result<std::vector<Tensor>> results) {
  if (!results)
    return results.error();
  for (size_t i = 0; i < results->size(); ++i)
    arguments.set(i, std::move((*results)[i]));
  return {};
}

Result<StepFunction> planReduce(Operation *op, Planning &planning) {
  auto reduced = cast<stablehlo::ReduceOp>(op);
  std::vector<int64_t> dimensions = toVector(reduced.getDimensions());
  auto body = planning.function(reduced.getBody());
  if (!body)
    return body.error();
  return StepFunction([=, body = *body, isLong = stagnates(*op)](GridProcess &process,
                                                                 StepArguments &arguments) -> Status {
    std::vector<Tensor> inputs, inits;
    if (Status status = operandsFor(arguments, *body, inputs, inits); !status)
      return status;
    auto function = body->bind(process, arguments.frame);
    return setAll(arguments, reduce(inputs, inits, dimensions, *function,
                                    isLong ? Accumulate::Wide : process.run.options.accumulate));
  });
}

std::vector<int64_t> optional(std::optional<ArrayRef<int64_t>> values) {
  return values ? toVector(*values) : std::vector<int64_t>();
}

void addPadding(std::optional<DenseIntElementsAttr> padding, WindowNumbers &window) {
  if (!padding)
    return;
  size_t i = 0;
  for (const APInt &value : padding->getValues<APInt>())
    (i++ % 2 ? window.paddingHigh : window.paddingLow).push_back(value.getSExtValue());
}

Result<StepFunction> planReduceWindow(Operation *op, Planning &planning) {
  auto reduced = cast<stablehlo::ReduceWindowOp>(op);
  WindowNumbers window;
  window.sizes = toVector(reduced.getWindowDimensions());
  window.strides = optional(reduced.getWindowStrides());
  window.baseDilations = optional(reduced.getBaseDilations());
  window.windowDilations = optional(reduced.getWindowDilations());
  addPadding(reduced.getPadding(), window);
  auto body = planning.function(reduced.getBody());
  if (!body)
    return body.error();
  return StepFunction([=, body = *body, isLong = stagnates(*op)](GridProcess &process,
                                                                 StepArguments &arguments) -> Status {
    std::vector<Tensor> inputs, inits;
    if (Status status = operandsFor(arguments, *body, inputs, inits); !status)
      return status;
    auto function = body->bind(process, arguments.frame);
    return setAll(arguments, reduceWindow(inputs, inits, window, *function,
                                          isLong ? Accumulate::Wide
                                                 : process.run.options.accumulate));
  });
}

Result<StepFunction> planSelectAndScatter(Operation *op, Planning &planning) {
  auto scattered = cast<stablehlo::SelectAndScatterOp>(op);
  WindowNumbers window;
  window.sizes = optional(scattered.getWindowDimensions());
  window.strides = optional(scattered.getWindowStrides());
  addPadding(scattered.getPadding(), window);
  auto select = planning.function(scattered.getSelect());
  if (!select)
    return select.error();
  auto scatter = planning.function(scattered.getScatter());
  if (!scatter)
    return scatter.error();
  return StepFunction([=, select = *select, scatter = *scatter](
                          GridProcess &process, StepArguments &arguments) -> Status {
    auto selecting = select->bind(process, arguments.frame);
    auto scattering = scatter->bind(process, arguments.frame);
    Result<Tensor> source = promoted(arguments.tensor(1), scatter->argumentTypes()[0]);
    Result<Tensor> init = promoted(arguments.tensor(2), scatter->argumentTypes()[0]);
    if (!source || !init)
      return !source ? source.error() : init.error();
    Result<Tensor> result =
        selectAndScatter(arguments.tensor(0), *source, *init, window, *selecting, *scattering);
    if (!result)
      return result.error();
    arguments.set(0, std::move(*result));
    return {};
  });
}

Result<StepFunction> planMap(Operation *op, Planning &planning) {
  auto body = planning.function(cast<stablehlo::MapOp>(op).getComputation());
  if (!body)
    return body.error();
  return StepFunction([body = *body](GridProcess &process, StepArguments &arguments) -> Status {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < arguments.size(); ++i)
      inputs.push_back(arguments.tensor(i));
    auto function = body->bind(process, arguments.frame);
    return setAll(arguments, map(inputs, *function));
  });
}

} // namespace

void registerReductions(Registry &registry) {
  registry.add("stablehlo.reduce", planReduce);
  registry.add("stablehlo.reduce_window", planReduceWindow);
  registry.add("stablehlo.select_and_scatter", planSelectAndScatter);
  registry.add("stablehlo.map", planMap);
}

} // namespace cupel::reference
