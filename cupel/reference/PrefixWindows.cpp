#include "cupel/reference/PrefixWindows.h"

#include "cupel/reference/ExactSum.h"
#include "cupel/reference/Parallel.h"

#include <cstring>
#include <mutex>

namespace cupel::reference {

using tensor::DType;
using tensor::info;
using tensor::Shape;
using tensor::Storage;
using tensor::Tensor;

namespace {

/// Lines of a tensor along one dimension: `count` elements each, `inner` elements apart.
struct Lines {
  int64_t outer = 1, count = 1, inner = 1;

  Lines(const Tensor &tensor, size_t dimension) {
    for (size_t d = 0; d < size_t(tensor.rank()); ++d)
      (d < dimension ? outer : d == dimension ? count : inner) *= tensor.shape()[d];
  }
  int64_t lines() const { return outer * inner; }
  /// The first element of a line.
  int64_t first(int64_t line) const { return line / inner * count * inner + line % inner; }
};

/// Whether padding changes nothing: init folded into init is init.
Result<bool> isNeutral(std::span<const Tensor> inits, const ElementFunction &body) {
  std::vector<const void *> arguments;
  std::vector<std::vector<std::byte>> made;
  for (int side = 0; side < 2; ++side)
    for (const Tensor &init : inits)
      arguments.push_back(init.data());
  std::vector<void *> results;
  for (const Tensor &init : inits)
    made.emplace_back(size_t(info(init.dtype()).bytes));
  for (auto &memory : made)
    results.push_back(memory.data());
  if (Status status = body.run(arguments, results, 1); !status)
    return status.error();
  for (size_t i = 0; i < inits.size(); ++i)
    if (std::memcmp(made[i].data(), inits[i].data(), made[i].size()) != 0)
      return false;
  return true;
}

/// Step by step, many lines at a time.
Status stepByStep(std::span<const Tensor> inputs, std::span<const Tensor> inits, const Lines &lines,
                  const ElementFunction &body, std::span<Tensor> results) {
  constexpr int64_t most = 256; // Lines at a time.
  size_t values = inputs.size();
  std::mutex mutex;
  Status failure;
  auto block = [&](int64_t number) {
    int64_t begin = number * most, count = std::min(most, lines.lines() - begin);
    std::vector<std::vector<std::byte>> memory;
    std::vector<const void *> arguments;
    std::vector<void *> made;
    std::vector<int64_t> sizes;
    for (const Tensor &input : inputs)
      sizes.push_back(info(input.dtype()).bytes);
    for (int part = 0; part < 3; ++part) // Accumulators, elements, what comes out.
      for (size_t v = 0; v < values; ++v)
        memory.emplace_back(size_t(count * sizes[v]));
    for (size_t v = 0; v < values; ++v)
      for (int64_t lane = 0; lane < count; ++lane)
        std::memcpy(memory[v].data() + lane * sizes[v], inits[v].data(), size_t(sizes[v]));
    for (size_t i = 0; i < 2 * values; ++i)
      arguments.push_back(memory[i].data());
    for (size_t v = 0; v < values; ++v)
      made.push_back(memory[2 * values + v].data());
    for (int64_t k = 0; k < lines.count; ++k) {
      if (k % 64 == 0 && isStopped())
        return;
      for (size_t v = 0; v < values; ++v)
        for (int64_t lane = 0; lane < count; ++lane)
          std::memcpy(memory[values + v].data() + lane * sizes[v],
                      inputs[v].data() +
                          (lines.first(begin + lane) + k * lines.inner) * sizes[v],
                      size_t(sizes[v]));
      Status status = body.run(arguments, made, count);
      if (!status) {
        std::lock_guard lock(mutex);
        if (failure)
          failure = std::move(status);
        return;
      }
      for (size_t v = 0; v < values; ++v) {
        for (int64_t lane = 0; lane < count; ++lane)
          std::memcpy(results[v].mutableData() +
                          (lines.first(begin + lane) + k * lines.inner) * sizes[v],
                      memory[2 * values + v].data() + lane * sizes[v], size_t(sizes[v]));
        std::memcpy(memory[v].data(), memory[2 * values + v].data(), size_t(count * sizes[v]));
      }
    }
  };
  int64_t blocks = (lines.lines() + most - 1) / most;
  double nanoseconds = 4.0 * double(most) * double(lines.count);
  if (body.isParallel())
    forEach(blocks, nanoseconds, block);
  else
    for (int64_t i = 0; i < blocks && failure; ++i)
      block(i);
  if (failure && isStopped())
    return stoppedError();
  return failure;
}

/// Sums in f64 that are as if they were exact, rounded where they are handed out.
template <DType type> void sums(const Tensor &input, const Lines &lines, Tensor &result) {
  const auto *from = input.dataAs<Storage<type>>();
  auto *to = result.mutableAs<Storage<type>>();
  forEach(lines.lines(), 6.0 * double(lines.count), [&](int64_t line) {
    const auto *x = from + lines.first(line);
    double sum = 0, absolute = 0;
    auto terms = [&](int64_t first, int64_t count, double *out) {
      for (int64_t i = 0; i < count; ++i)
        out[i] = tensor::toDouble<type>(x[(first + i) * lines.inner]);
    };
    for (int64_t k = 0; k < lines.count; ++k) {
      double value = tensor::toDouble<type>(x[k * lines.inner]);
      sum += value;
      absolute += std::fabs(value);
      to[lines.first(line) + k * lines.inner] =
          roundedSum<type>(sum, sumErrorBound(k, absolute), k + 1, terms);
    }
  });
}

} // namespace

std::optional<size_t> prefixDimension(const WindowNumbers &window, const Tensor &input) {
  std::optional<size_t> dimension;
  for (size_t d = 0; d < window.sizes.size(); ++d) {
    if (window.strides[d] != 1 || window.baseDilations[d] != 1 || window.windowDilations[d] != 1 ||
        window.paddingHigh[d] != 0 || window.paddingLow[d] != window.sizes[d] - 1)
      return std::nullopt;
    if (window.sizes[d] == 1)
      continue;
    if (dimension || window.sizes[d] < input.shape()[d])
      return std::nullopt;
    dimension = d;
  }
  return dimension;
}

Result<std::optional<std::vector<Tensor>>>
foldPrefixes(std::span<const Tensor> inputs, std::span<const Tensor> inits, size_t dimension,
             const ElementFunction &body, Accumulate accumulate) {
  std::optional<std::vector<Tensor>> none;
  if (inputs[0].size() == 0 || body.argumentTypes().size() != 2 * inputs.size() ||
      body.resultTypes().size() != inputs.size())
    return none;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inits[i].size() != 1 || inits[i].dtype() != inputs[i].dtype() ||
        body.argumentTypes()[i].storage != inputs[i].dtype() ||
        body.argumentTypes()[inputs.size() + i].storage != inputs[i].dtype() ||
        body.resultTypes()[i].storage != inputs[i].dtype())
      return none;
  // Wide sums and products are no folds step by step; those of integers are the same either way.
  std::optional<KnownFunction> known = body.known();
  bool isFloat = info(inputs[0].dtype()).kind != tensor::Kind::Signed &&
                 info(inputs[0].dtype()).kind != tensor::Kind::Unsigned &&
                 info(inputs[0].dtype()).kind != tensor::Kind::Boolean;
  bool isSum = known == KnownFunction::Add && tensor::isFloat(inputs[0].dtype()) &&
               inputs[0].dtype() != DType::F64;
  bool isStepwise = accumulate == Accumulate::Native || known == KnownFunction::Minimum ||
                    known == KnownFunction::Maximum || (known && !isFloat);
  if (!isStepwise && !isSum)
    return none;
  Result<bool> neutral = isNeutral(inits, body);
  if (!neutral)
    return neutral.error();
  if (!*neutral)
    return none;
  std::vector<Tensor> flat, results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<Tensor> input = inputs[i].contiguous();
    Result<Tensor> result = Tensor::uninitialized(
        body.resultTypes()[i], Shape(inputs[0].shape().begin(), inputs[0].shape().end()));
    if (!input)
      return input.error();
    if (!result)
      return result.error();
    flat.push_back(std::move(*input));
    results.push_back(std::move(*result));
  }
  Lines lines(flat[0], dimension);
  if (isStepwise) {
    if (Status status = stepByStep(flat, inits, lines, body, results); !status)
      return status.error();
    return std::optional(std::move(results));
  }
  bool isDone = false;
  tensor::dispatch(flat[0].dtype(), [&]<DType type>() {
    constexpr bool isUsual = tensor::isNarrowFloat(type) && !tensor::isRareFloat(type);
    if constexpr (isUsual || type == DType::F32) {
      std::vector<std::byte> zero(size_t(info(type).bytes));
      if (std::memcmp(zero.data(), inits[0].data(), zero.size()) != 0)
        return;
      sums<type>(flat[0], lines, results[0]);
      isDone = true;
    }
  });
  if (!isDone)
    return none;
  return std::optional(std::move(results));
}

} // namespace cupel::reference
