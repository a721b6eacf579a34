// Operations that fold with a region on scalars: reductions, windows and map.

#include "cupel/reference/Elementwise.h"
#include "cupel/reference/FoldKernels.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/Reductions.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/RoundingFacts.h"
#include "cupel/reference/Windows.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace cupel::reference {

using namespace mlir;
using tensor::ElementType;
using tensor::Tensor;

namespace {

/// N inputs, from the first-th on, and N initial values, promoted.
Status operandsFor(StepArguments &arguments, const RegionFunction &body,
                   std::vector<Tensor> &inputs, std::vector<Tensor> &inits, size_t first = 0) {
  size_t count = arguments.size() / 2;
  for (size_t i = first; i < 2 * count; ++i) {
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

/// What a thread moves at a time stays in its cache until it is read; more than the most is not
/// worth having for each thread.
constexpr int64_t kPartBytes = int64_t{128} << 10, kMostPartBytes = int64_t{1} << 20;

/// `reduce` of one operand that is moved on the way, part by part along its first dimensions: what is
/// folded is folded in one order however many others there are. Nothing where they are folded
/// themselves, where there are too few parts for all threads, or where the body is not one whose
/// order is known.
std::optional<Result<std::vector<Tensor>>>
reduceParts(const MovedParts &operand, const Tensor &init, std::span<const int64_t> dimensions,
            const ElementFunction &body, Accumulate accumulate) {
  const Tensor &unmoved = operand.unmoved();
  const ElementType &result = body.resultTypes()[0];
  if (!body.known() || result.quantization ||
      !hasKnownFold(*body.known(), result.storage, accumulate) || dimensions.empty())
    return std::nullopt;
  const int64_t first = *std::ranges::min_element(dimensions);
  int64_t rows = 1;
  for (int64_t d = 0; d < first; ++d)
    rows *= unmoved.dim(d);
  const int64_t length = unmoved.size() / rows, bytes = info(unmoved.dtype()).bytes;
  const int64_t together = std::max<int64_t>(kPartBytes / (length * bytes), 1);
  if (length * bytes > kMostPartBytes || rows / together < 4 * workThreads())
    return std::nullopt;

  tensor::Shape partShape{0}, shape(unmoved.shape().begin(), unmoved.shape().begin() + first);
  std::vector<int64_t> folded;
  for (int64_t d = first; d < unmoved.rank(); ++d) {
    partShape.push_back(unmoved.dim(d));
    if (std::ranges::find(dimensions, d) == dimensions.end())
      shape.push_back(unmoved.dim(d));
    else
      folded.push_back(d - first + 1);
  }
  Result<Tensor> whole = Tensor::uninitialized(result, std::move(shape));
  if (!whole)
    return Result<std::vector<Tensor>>(whole.error());
  std::byte *to = whole->mutableData();
  const int64_t rowBytes = whole->size() / rows * info(whole->dtype()).bytes;
  std::mutex mutex;
  Status done;
  auto foldPart = [&](int64_t part) -> Status {
    thread_local std::vector<std::byte> memory;
    const int64_t begin = part * together, count = std::min(together, rows - begin);
    memory.resize(size_t(std::max(count * length * bytes, kPartBytes)));
    operand.write(begin * length, count * length, memory.data());
    tensor::Shape ownShape = partShape;
    ownShape[0] = count;
    // It is gone before the memory is written again.
    Result<Tensor> moved =
        Tensor::borrow(unmoved.elementType(), std::move(ownShape), memory, nullptr);
    if (moved)
      moved = promoted(std::move(*moved), body.argumentTypes()[0]);
    if (!moved)
      return moved.error();
    const Tensor inputs[] = {std::move(*moved)}, inits[] = {init};
    auto results = reduce(inputs, inits, folded, body, accumulate);
    if (!results)
      return results.error();
    std::memcpy(to + begin * rowBytes, results->front().data(), size_t(count * rowBytes));
    return {};
  };
  forEach((rows + together - 1) / together, double(together * length), [&](int64_t part) {
    Status status = foldPart(part);
    std::lock_guard lock(mutex);
    if (done)
      done = std::move(status);
  });
  if (!done)
    return Result<std::vector<Tensor>>(done.error());
  return std::vector<Tensor>{std::move(*whole)};
}

Result<StepFunction> planReduce(Operation *op, Planning &planning) {
  auto reduced = cast<stablehlo::ReduceOp>(op);
  std::vector<int64_t> dimensions = toVector(reduced.getDimensions());
  auto body = planning.function(reduced.getBody());
  if (!body)
    return body.error();
  return StepFunction([=, body = *body, isLong = stagnates(*op)](GridProcess &process,
                                                                 StepArguments &arguments) -> Status {
    // Steps of the body have their own.
    const MovedParts *moving = std::exchange(process.moving, nullptr);
    std::vector<Tensor> inputs, inits;
    if (Status status = operandsFor(arguments, *body, inputs, inits, moving ? 1 : 0); !status)
      return status;
    auto function = body->bind(process, arguments.frame);
    Accumulate accumulate = isLong ? Accumulate::Wide : process.run.options.accumulate;
    if (moving) {
      if (auto results = reduceParts(*moving, inits[0], dimensions, *function, accumulate))
        return setAll(arguments, std::move(*results));
      Result<Tensor> moved = moving->whole();
      if (moved)
        moved = promoted(std::move(*moved), body->argumentTypes()[0]);
      if (!moved)
        return moved.error();
      inputs.push_back(std::move(*moved));
    }
    return setAll(arguments, reduce(inputs, inits, dimensions, *function, accumulate));
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
  registry.addMover("stablehlo.reduce", planReduce);
  registry.add("stablehlo.reduce_window", planReduceWindow);
  registry.add("stablehlo.select_and_scatter", planSelectAndScatter);
  registry.add("stablehlo.map", planMap);
}

} // namespace cupel::reference
