#include "cupel/reference/Windows.h"

#include "cupel/reference/DataMovement.h"
#include "cupel/reference/LaneUpdates.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/PrefixWindows.h"
#include "cupel/reference/Reductions.h"
#include "cupel/reference/StridedCopy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

namespace cupel::reference {

using tensor::DType;
using tensor::info;
using tensor::Shape;
using tensor::Tensor;

namespace {

std::string described(const Tensor &value) {
  return tensor::describe(value.elementType(), value.shape());
}

/// The numbers with defaults filled in and checked against the operand's rank.
Result<WindowNumbers> complete(std::string_view op, WindowNumbers window, const Tensor &operand) {
  auto rank = static_cast<size_t>(operand.rank());
  auto fill = [&](std::vector<int64_t> &list, int64_t value) {
    if (list.empty())
      list.assign(rank, value);
  };
  fill(window.sizes, 1);
  for (auto *list : {&window.strides, &window.baseDilations, &window.windowDilations})
    fill(*list, 1);
  fill(window.paddingLow, 0);
  fill(window.paddingHigh, 0);
  for (auto *list : {&window.sizes, &window.strides, &window.baseDilations, &window.windowDilations,
                     &window.paddingLow, &window.paddingHigh})
    if (list->size() != rank)
      return Error{std::string(op) + ": window numbers for " + std::to_string(list->size()) +
                   " dimensions on " + described(operand)};
  for (auto *list :
       {&window.sizes, &window.strides, &window.baseDilations, &window.windowDilations})
    for (int64_t value : *list)
      if (value <= 0)
        return Error{std::string(op) + ": window sizes, strides and dilations must be positive"};
  constexpr int64_t far = int64_t{1} << 61; // sums of positions and padding cannot overflow
  for (auto *list : {&window.paddingLow, &window.paddingHigh})
    for (int64_t value : *list)
      if (value < -far || value > far)
        return Error{std::string(op) + ": padding " + std::to_string(value) + " is too large"};
  return window;
}

/// How many windows fit into `size` elements.
int64_t windowCount(int64_t size, int64_t window, int64_t dilation, int64_t stride) {
  int64_t extent = 0;
  if (size <= 0 || __builtin_mul_overflow(window - 1, dilation, &extent) || extent >= size)
    return 0;
  return (size - extent - 1) / stride + 1;
}

} // namespace

Result<std::vector<Tensor>> reduceWindow(std::span<const Tensor> inputs,
                                         std::span<const Tensor> inits,
                                         const WindowNumbers &numbers, const ElementFunction &body,
                                         Accumulate accumulate) {
  if (inputs.empty() || inputs.size() != inits.size())
    return Error{"reduce_window: " + std::to_string(inputs.size()) + " inputs and " +
                 std::to_string(inits.size()) + " initial values"};
  for (const Tensor &input : inputs)
    if (!std::ranges::equal(input.shape(), inputs[0].shape()))
      return Error{"reduce_window: " + described(input) + " does not go with " +
                   described(inputs[0])};
  Result<WindowNumbers> window = complete("reduce_window", numbers, inputs[0]);
  if (!window)
    return window.error();
  auto rank = static_cast<size_t>(inputs[0].rank());
  if (std::optional<size_t> dimension = prefixDimension(*window, inputs[0])) {
    auto folded = foldPrefixes(inputs, inits, *dimension, body, accumulate);
    if (!folded)
      return folded.error();
    if (*folded)
      return std::move(**folded);
  }

  // Padding and dilation are made real; the rest is a fold over a view in which windows overlap.
  std::vector<int64_t> interior = window->baseDilations;
  for (int64_t &value : interior)
    --value;
  // Negative padding may take away more than there is: then nothing is left, and no window.
  for (size_t d = 0; d < rank; ++d) {
    int64_t size = inputs[0].dim(static_cast<int64_t>(d));
    __int128 left = static_cast<__int128>(size) + window->paddingLow[d] + window->paddingHigh[d] +
                    static_cast<__int128>(std::max<int64_t>(size - 1, 0)) * interior[d];
    if (left < 0 && -left <= std::numeric_limits<int64_t>::max() / 2 && window->paddingHigh[d] <= 0)
      window->paddingHigh[d] += static_cast<int64_t>(-left);
    else if (left < 0 && -left <= std::numeric_limits<int64_t>::max() / 2)
      window->paddingLow[d] += static_cast<int64_t>(-left);
  }
  auto any = [](const std::vector<int64_t> &list) {
    return std::ranges::any_of(list, [](int64_t value) { return value != 0; });
  };
  bool padded = any(interior) || any(window->paddingLow) || any(window->paddingHigh);
  std::vector<Tensor> sources;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!padded) {
      sources.push_back(inputs[i]);
      continue;
    }
    Result<Tensor> source =
        pad(inputs[i], inits[i], window->paddingLow, window->paddingHigh, interior);
    if (!source)
      return Error{"reduce_window: " + source.message()};
    sources.push_back(std::move(*source));
  }
  Result<std::vector<Tensor>> stored = storedForFold(sources, body, accumulate);
  if (!stored)
    return stored;

  Shape shape;
  for (size_t d = 0; d < rank; ++d)
    shape.push_back(windowCount(sources[0].dim(static_cast<int64_t>(d)), window->sizes[d],
                                window->windowDilations[d], window->strides[d]));
  shape.insert(shape.end(), window->sizes.begin(), window->sizes.end());
  std::vector<bool> reduced(2 * rank, false);
  std::fill(reduced.begin() + static_cast<ptrdiff_t>(rank), reduced.end(), true);
  // With no window at all the view is never read, and its counts might overflow.
  if (std::find(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(rank), 0) !=
      shape.begin() + static_cast<ptrdiff_t>(rank))
    std::fill(shape.begin() + static_cast<ptrdiff_t>(rank), shape.end(), 1);
  if (!tensor::elementCount(shape))
    return Error{"reduce_window: too many elements in all windows together"};
  std::vector<FoldView> views;
  for (const Tensor &source : *stored) {
    FoldView view{source.data(), source.dtype(), {}};
    // A stride beyond the only window is never used; multiplying it might overflow.
    for (size_t d = 0; d < rank; ++d)
      view.strides.push_back(shape[d] > 1 ? source.strides()[d] * window->strides[d] : 0);
    for (size_t d = 0; d < rank; ++d)
      view.strides.push_back(shape[rank + d] > 1 ? source.strides()[d] * window->windowDilations[d]
                                                 : 0);
    views.push_back(std::move(view));
  }
  return fold(views, shape, reduced, inits, body, accumulate);
}

Result<Tensor> selectAndScatter(const Tensor &operand, const Tensor &source, const Tensor &init,
                                const WindowNumbers &numbers, const ElementFunction &select,
                                const ElementFunction &scatter) {
  DType type = operand.dtype();
  auto takesTwo = [&](const ElementFunction &function, DType result) {
    return function.argumentTypes().size() == 2 && function.resultTypes().size() == 1 &&
           function.argumentTypes()[0].storage == type &&
           function.argumentTypes()[1].storage == type &&
           function.resultTypes()[0].storage == result;
  };
  if (source.dtype() != type || init.dtype() != type || init.size() != 1 ||
      !takesTwo(select, DType::I1) || !takesTwo(scatter, type))
    return Error{"select_and_scatter: operand, source, initial value and functions do not agree "
                 "in element type"};
  Result<WindowNumbers> window = complete("select_and_scatter", numbers, operand);
  if (!window)
    return window.error();
  auto rank = static_cast<size_t>(operand.rank());
  bool fits = source.rank() == operand.rank();
  for (size_t d = 0; fits && d < rank; ++d) {
    int64_t size = operand.shape()[d];
    fits = !__builtin_add_overflow(size, window->paddingLow[d], &size) &&
           !__builtin_add_overflow(size, window->paddingHigh[d], &size) &&
           source.shape()[d] == windowCount(size, window->sizes[d], 1, window->strides[d]);
  }
  if (!fits)
    return Error{"select_and_scatter: " + described(source) +
                 " does not have one element for each window of " + described(operand)};

  Result<Tensor> values = operand.contiguous(), updates = source.contiguous();
  Result<Tensor> result = Tensor::uninitialized(
      operand.elementType(), Shape(operand.shape().begin(), operand.shape().end()));
  for (auto *tensor : {&values, &updates, &result})
    if (!*tensor)
      return tensor->error();
  if (result->size() == 0)
    return result;
  int64_t bytes = info(type).bytes;
  fillElements(result->mutableData(), init.data(), bytes, result->size());

  constexpr int64_t most = 1024;
  std::vector<int64_t> strides = contiguousStrides(operand.shape(), 1);
  std::vector<std::byte> candidates(most * bytes), elements(most * bytes), inits(most * bytes),
      joined(most * bytes);
  fillElements(inits.data(), init.data(), bytes, most);
  std::vector<int64_t> starts(most * rank); // of windows, per lane
  std::vector<int64_t> chosen(most);        // element number of the candidate, -1: none yet
  std::vector<int64_t> asked(most), places(most);
  std::vector<uint8_t> keeps(most);
  LaneUpdates lanes(scatter, {result->mutableData()}, /*updatesFirst=*/true);
  std::vector<int64_t> at(rank, 0), offset(rank);
  const std::byte *data = values->data();

  for (int64_t first = 0; first < updates->size(); first += most) {
    int64_t count = std::min(most, updates->size() - first);
    for (int64_t lane = 0; lane < count; ++lane) {
      for (size_t d = 0; d < rank; ++d)
        starts[lane * rank + d] = at[d] * window->strides[d] - window->paddingLow[d];
      chosen[lane] = -1;
      for (size_t d = rank; d-- > 0;) {
        if (++at[d] < source.shape()[d])
          break;
        at[d] = 0;
      }
    }
    // One position of all windows after the other, in row-major order.
    std::fill(offset.begin(), offset.end(), 0);
    int64_t polls = 0;
    while (true) {
      if (++polls % 64 == 0 && isStopped())
        return stoppedError();
      int64_t questions = 0;
      for (int64_t lane = 0; lane < count; ++lane) {
        int64_t place = 0;
        bool inside = true;
        for (size_t d = 0; d < rank; ++d) {
          int64_t position = starts[lane * rank + d] + offset[d];
          inside &= position >= 0 && position < operand.shape()[d];
          place += inside ? position * strides[d] : 0;
        }
        if (!inside)
          continue;
        if (chosen[lane] < 0) {
          chosen[lane] = place;
          continue;
        }
        std::memcpy(candidates.data() + questions * bytes, data + chosen[lane] * bytes,
                    static_cast<size_t>(bytes));
        std::memcpy(elements.data() + questions * bytes, data + place * bytes,
                    static_cast<size_t>(bytes));
        asked[questions] = lane;
        places[questions++] = place;
      }
      if (questions > 0) {
        const void *arguments[] = {candidates.data(), elements.data()};
        void *answers[] = {keeps.data()};
        if (Status status = select.run(arguments, answers, questions); !status)
          return status.error();
        for (int64_t k = 0; k < questions; ++k)
          if (!keeps[k])
            chosen[asked[k]] = places[k];
      }
      size_t d = rank;
      while (d-- > 0) {
        if (++offset[d] < window->sizes[d])
          break;
        offset[d] = 0;
      }
      if (d == static_cast<size_t>(-1))
        break;
    }
    const void *arguments[] = {inits.data(), updates->data() + first * bytes};
    void *results[] = {joined.data()};
    if (Status status = scatter.run(arguments, results, count); !status)
      return status.error();
    for (int64_t lane = 0; lane < count; ++lane) {
      if (chosen[lane] < 0)
        continue; // the whole window lies in the padding
      const std::byte *update = joined.data() + lane * bytes;
      if (Status status = lanes.add(chosen[lane], std::span(&update, 1)); !status)
        return status.error();
    }
  }
  if (Status status = lanes.flush(); !status)
    return status.error();
  return result;
}

Result<std::vector<Tensor>> map(std::span<const Tensor> inputs, const ElementFunction &body) {
  if (inputs.empty() || body.argumentTypes().size() != inputs.size())
    return Error{"map: the body does not take one element of each of the " +
                 std::to_string(inputs.size()) + " inputs"};
  std::vector<Tensor> flat, results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!std::ranges::equal(inputs[i].shape(), inputs[0].shape()) ||
        inputs[i].dtype() != body.argumentTypes()[i].storage)
      return Error{"map: input " + std::to_string(i) + ", " + described(inputs[i]) +
                   ", does not go with the first input or the body"};
    Result<Tensor> input = inputs[i].contiguous();
    if (!input)
      return input.error();
    flat.push_back(std::move(*input));
  }
  for (const tensor::ElementType &type : body.resultTypes()) {
    Result<Tensor> result =
        Tensor::uninitialized(type, Shape(inputs[0].shape().begin(), inputs[0].shape().end()));
    if (!result)
      return result.error();
    results.push_back(std::move(*result));
  }
  constexpr int64_t most = 2048;
  std::vector<std::byte *> targets;
  for (Tensor &result : results)
    targets.push_back(result.mutableData());
  std::mutex mutex;
  Status failure;
  auto block = [&](int64_t number) {
    int64_t first = number * most, count = std::min(most, inputs[0].size() - first);
    std::vector<const void *> arguments;
    std::vector<void *> outputs;
    for (const Tensor &input : flat)
      arguments.push_back(input.data() + first * info(input.dtype()).bytes);
    for (size_t i = 0; i < results.size(); ++i)
      outputs.push_back(targets[i] + first * info(results[i].dtype()).bytes);
    Status status = body.run(arguments, outputs, count);
    std::lock_guard lock(mutex);
    if (failure && !status)
      failure = std::move(status);
  };
  int64_t blocks = (inputs[0].size() + most - 1) / most;
  if (body.isParallel())
    forEach(blocks, 4.0 * most, block);
  else
    for (int64_t i = 0; i < blocks && failure; ++i)
      block(i);
  if (!failure)
    return failure.error();
  return results;
}

} // namespace cupel::reference
