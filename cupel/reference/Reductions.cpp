#include "cupel/reference/Reductions.h"

#include "cupel/reference/FoldKernels.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/StridedCopy.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace cupel::reference {

using tensor::DType;
using tensor::info;
using tensor::Shape;
using tensor::Storage;
using tensor::Tensor;

namespace {

/// The known function with a loop of its own, if there is one for this body.
std::optional<KnownFunction> loopOf(const ElementFunction &body, Accumulate accumulate) {
  if (body.resultTypes().size() != 1 || body.resultTypes()[0].quantization)
    return std::nullopt;
  std::optional<KnownFunction> known = body.known();
  if (known && hasKnownFold(*known, body.resultTypes()[0].storage, accumulate))
    return known;
  return std::nullopt;
}

Status checkTypes(std::span<const Tensor> inits, const ElementFunction &body) {
  size_t n = inits.size();
  if (n == 0 || body.argumentTypes().size() != 2 * n || body.resultTypes().size() != n)
    return Error{"reduce: inputs, initial values and body do not agree in number"};
  for (size_t i = 0; i < n; ++i) {
    DType type = inits[i].dtype();
    if (inits[i].size() != 1)
      return Error{"reduce: initial value " + std::to_string(i) + " is no scalar"};
    for (const tensor::ElementType &other :
         {body.argumentTypes()[i], body.argumentTypes()[i + n], body.resultTypes()[i]})
      if (other.storage != type)
        return Error{"reduce: initial value " + std::to_string(i) + " is of " +
                     std::string(info(type).name) + ", the body of " +
                     std::string(info(other.storage).name)};
  }
  return {};
}

/// The accumulators of some lanes and how the body takes elements into them.
class Lanes {
public:
  Lanes(std::span<const FoldView> inputs, std::span<const int64_t> bytes,
        const ElementFunction &body)
      : inputs(inputs), bytes(bytes), body(body), n(inputs.size()) {}

  std::vector<std::vector<std::byte>> now;

  void start(int64_t lanes) {
    now.resize(n);
    next.resize(n);
    for (size_t i = 0; i < n; ++i) {
      now[i].resize(static_cast<size_t>(lanes * bytes[i]));
      next[i].resize(static_cast<size_t>(lanes * bytes[i]));
    }
  }

  /// now = body(now, elements), for the first `lanes` lanes.
  Status step(std::span<const std::byte *const> elements, int64_t lanes) {
    arguments.clear();
    results.clear();
    for (size_t i = 0; i < n; ++i)
      arguments.push_back(now[i].data());
    for (size_t i = 0; i < n; ++i)
      arguments.push_back(elements[i]);
    for (size_t i = 0; i < n; ++i)
      results.push_back(next[i].data());
    if (Status status = body.run(arguments, results, lanes); !status)
      return status;
    std::swap(now, next);
    return {};
  }

  /// Takes in the next `total` elements of lanes that start at `offsets`, in the order of `walks`.
  Status take(const std::vector<std::vector<int64_t>> &offsets, int64_t lanes,
              std::vector<FoldWalk> &walks, int64_t total) {
    int64_t chunk = std::clamp<int64_t>(65536 / lanes, 1, std::max<int64_t>(total, 1));
    std::vector<bool> together(n);
    std::vector<std::vector<std::byte>> gathered(n);
    for (size_t i = 0; i < n; ++i) {
      bool contiguous = true;
      for (int64_t lane = 0; lane < lanes; ++lane)
        contiguous &= offsets[i][lane] == offsets[i][0] + lane * bytes[i];
      together[i] = contiguous;
      if (!contiguous)
        gathered[i].resize(static_cast<size_t>(chunk * lanes * bytes[i]));
    }
    std::vector<std::vector<int64_t>> steps(n, std::vector<int64_t>(static_cast<size_t>(chunk)));
    std::vector<const std::byte *> elements(n);
    for (int64_t r = 0; r < total; r += chunk) {
      int64_t count = std::min(chunk, total - r);
      for (size_t i = 0; i < n; ++i) {
        for (int64_t s = 0; s < count; ++s, walks[i].next())
          steps[i][s] = walks[i].offset();
        if (!together[i])
          gatherBlock(i, offsets[i], lanes, steps[i], count, gathered[i].data());
      }
      for (int64_t s = 0; s < count; ++s) {
        for (size_t i = 0; i < n; ++i)
          elements[i] = together[i] ? inputs[i].data + offsets[i][0] + steps[i][s]
                                    : gathered[i].data() + s * lanes * bytes[i];
        if (Status status = step(elements, lanes); !status)
          return status;
      }
    }
    return {};
  }

  /// target[s][lane] = element at offsets[lane] + steps[s]. Lanes are often a power of two apart
  /// and steps close together: tiles through a small buffer read each cache line once.
  void gatherBlock(size_t i, std::span<const int64_t> offsets, int64_t lanes,
                   std::span<const int64_t> steps, int64_t count, std::byte *target) const {
    dispatchBytes(bytes[i], [&](auto type) {
      using T = decltype(type);
      constexpr int64_t size = sizeof(T), tile = 16;
      T buffer[tile][tile];
      for (int64_t lane0 = 0; lane0 < lanes; lane0 += tile)
        for (int64_t s0 = 0; s0 < count; s0 += tile) {
          int64_t width = std::min(tile, lanes - lane0), height = std::min(tile, count - s0);
          for (int64_t lane = 0; lane < width; ++lane) {
            const std::byte *base = inputs[i].data + offsets[lane0 + lane];
            for (int64_t s = 0; s < height; ++s)
              std::memcpy(&buffer[s][lane], base + steps[s0 + s], size);
          }
          for (int64_t s = 0; s < height; ++s)
            std::memcpy(target + ((s0 + s) * lanes + lane0) * size, buffer[s],
                        static_cast<size_t>(width * size));
        }
    });
  }

private:
  std::span<const FoldView> inputs;
  std::span<const int64_t> bytes;
  const ElementFunction &body;
  size_t n;
  std::vector<std::vector<std::byte>> next;
  std::vector<const void *> arguments;
  std::vector<void *> results;
};

/// Folds through the body itself: a lane is one result (or, in segments, a part of one).
class LaneFold {
public:
  LaneFold(std::span<const FoldView> inputs, std::vector<FoldLayout> layouts,
           std::span<const Tensor> inits, std::vector<std::byte *> outputs,
           const ElementFunction &body)
      : inputs(inputs), layouts(std::move(layouts)), inits(inits), outputs(std::move(outputs)),
        body(body), n(inputs.size()) {
    for (const Tensor &init : inits)
      bytes.push_back(info(init.dtype()).bytes);
  }

  Status run(bool mayUseSegments) {
    int64_t kept = layouts[0].keptCount, reduced = layouts[0].reducedCount;
    if (mayUseSegments && kept < 64 && reduced >= 2048)
      return runSegments();
    return blocks(kept, 1024, [&](int64_t begin, int64_t end) -> Status {
      int64_t lanes = end - begin;
      std::vector<std::vector<int64_t>> offsets(n);
      std::vector<FoldWalk> steps;
      for (size_t i = 0; i < n; ++i) {
        FoldWalk walk(layouts[i].kept);
        walk.seek(begin);
        for (int64_t lane = 0; lane < lanes; ++lane, walk.next())
          offsets[i].push_back(walk.offset());
        steps.emplace_back(layouts[i].reduced);
      }
      Lanes fold(inputs, bytes, body);
      fold.start(lanes);
      for (size_t i = 0; i < n; ++i)
        fillElements(fold.now[i].data(), inits[i].data(), bytes[i], lanes);
      if (Status status = fold.take(offsets, lanes, steps, reduced); !status)
        return status;
      for (size_t i = 0; i < n; ++i)
        std::memcpy(outputs[i] + begin * bytes[i], fold.now[i].data(),
                    static_cast<size_t>(lanes * bytes[i]));
      return {};
    });
  }

private:
  /// Calls `some(begin, end)` for blocks of `most` lanes, side by side where the body allows it.
  template <typename F> Status blocks(int64_t lanes, int64_t most, F &&some) {
    std::mutex mutex;
    Status first;
    auto block = [&](int64_t number) {
      Status status = some(number * most, std::min(lanes, (number + 1) * most));
      if (status)
        return;
      std::lock_guard lock(mutex);
      if (first)
        first = std::move(status);
    };
    int64_t count = (lanes + most - 1) / most;
    if (body.isParallel()) {
      // A call of the body costs about as much as two of the known ones for each lane.
      double each = 2.0 * static_cast<double>(most) * static_cast<double>(layouts[0].reducedCount);
      forEach(count, each, block);
      return first;
    }
    for (int64_t i = 0; i < count && first; ++i)
      block(i);
    return first;
  }

  /// Few results of many elements: each is cut into segments that are folded side by side, from
  /// their own first elements, and joined in order; what is left over comes last.
  Status runSegments() {
    int64_t kept = layouts[0].keptCount, reduced = layouts[0].reducedCount;
    std::vector<FoldView> packedViews(inputs.begin(), inputs.end());
    std::vector<std::vector<std::byte>> packed(n);
    for (size_t i = 0; i < n; ++i) {
      if (layouts[i].reduced.size() == 1)
        continue;
      // Segments are cut from one dimension: bring the elements together.
      std::vector<int64_t> shape, strides;
      for (const std::vector<FoldDim> *dims : {&layouts[i].kept, &layouts[i].reduced})
        for (const FoldDim &dim : *dims) {
          shape.push_back(dim.size);
          strides.push_back(dim.stride);
        }
      if (Status status = reserveScratch(kept * reduced * bytes[i]); !status)
        return status;
      packed[i].resize(static_cast<size_t>(kept * reduced * bytes[i]));
      StridedCopy(shape, contiguousStrides(shape, bytes[i]), strides, bytes[i])
          .run(packed[i].data(), inputs[i].data);
      packedViews[i].data = packed[i].data();
      layouts[i].kept = {{kept, reduced * bytes[i]}};
      layouts[i].reduced = {{reduced, bytes[i]}};
    }
    inputs = packedViews;

    int64_t segments = std::min<int64_t>(1024 / kept, reduced / 32);
    int64_t length = reduced / segments, lanes = segments * kept;
    std::vector<std::vector<int64_t>> offsets(n), tails(n);
    std::vector<FoldWalk> tailWalks;
    std::vector<std::vector<std::byte>> parts(n);
    for (size_t i = 0; i < n; ++i) {
      int64_t stride = layouts[i].reduced[0].stride;
      for (int64_t s = 0; s <= segments; ++s) {
        FoldWalk keptWalk(layouts[i].kept);
        for (int64_t k = 0; k < kept; ++k, keptWalk.next())
          (s < segments ? offsets : tails)[i].push_back(keptWalk.offset() + s * length * stride);
      }
      parts[i].resize(static_cast<size_t>(lanes * bytes[i]));
      tailWalks.emplace_back(layouts[i].reduced);
    }
    Status folded = blocks(lanes, 256, [&](int64_t begin, int64_t end) -> Status {
      Lanes some(inputs, bytes, body);
      some.start(end - begin);
      std::vector<std::vector<int64_t>> own(n);
      std::vector<FoldWalk> walks;
      for (size_t i = 0; i < n; ++i) {
        own[i].assign(offsets[i].begin() + begin, offsets[i].begin() + end);
        for (int64_t lane = 0; lane < end - begin; ++lane)
          std::memcpy(some.now[i].data() + lane * bytes[i], inputs[i].data + own[i][lane],
                      static_cast<size_t>(bytes[i]));
        walks.emplace_back(layouts[i].reduced);
        walks.back().next();
      }
      if (Status status = some.take(own, end - begin, walks, length - 1); !status)
        return status;
      for (size_t i = 0; i < n; ++i)
        std::memcpy(parts[i].data() + begin * bytes[i], some.now[i].data(),
                    static_cast<size_t>((end - begin) * bytes[i]));
      return {};
    });
    if (!folded)
      return folded;
    Lanes joined(inputs, bytes, body);
    joined.start(kept);
    std::vector<const std::byte *> pointers(n);
    for (size_t i = 0; i < n; ++i)
      fillElements(joined.now[i].data(), inits[i].data(), bytes[i], kept);
    for (int64_t s = 0; s < segments; ++s) {
      for (size_t i = 0; i < n; ++i)
        pointers[i] = parts[i].data() + s * kept * bytes[i];
      if (Status status = joined.step(pointers, kept); !status)
        return status;
    }
    if (Status status = joined.take(tails, kept, tailWalks, reduced - segments * length); !status)
      return status;
    for (size_t i = 0; i < n; ++i)
      std::memcpy(outputs[i], joined.now[i].data(), static_cast<size_t>(kept * bytes[i]));
    return {};
  }

  std::span<const FoldView> inputs;
  std::vector<FoldLayout> layouts;
  std::span<const Tensor> inits;
  std::vector<std::byte *> outputs;
  const ElementFunction &body;
  size_t n;
  std::vector<int64_t> bytes;
};

} // namespace

Result<std::vector<Tensor>> storedForFold(std::span<const Tensor> inputs,
                                          const ElementFunction &body, Accumulate accumulate) {
  std::vector<Tensor> result(inputs.begin(), inputs.end());
  if (result.size() != 1 || !tensor::isNarrowFloat(result[0].dtype()) || !loopOf(body, accumulate))
    return result;
  Result<Tensor> flat = result[0].contiguous();
  if (!flat)
    return flat.error();
  Result<Tensor> wide =
      Tensor::uninitialized(DType::F32, Shape(flat->shape().begin(), flat->shape().end()));
  if (!wide)
    return wide.error();
  tensor::dispatch(flat->dtype(), [&]<DType type>() {
    if constexpr (tensor::isNarrowFloat(type)) {
      const auto *from = flat->dataAs<Storage<type>>();
      float *to = wide->mutableAs<float>();
      forBlocks(flat->size(), 0.4, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          to[i] = tensor::toFloat<type>(from[i]);
      });
    }
  });
  result[0] = std::move(*wide);
  return result;
}

Result<std::vector<Tensor>> fold(std::span<const FoldView> inputs, std::span<const int64_t> shape,
                                 const std::vector<bool> &reduced, std::span<const Tensor> inits,
                                 const ElementFunction &body, Accumulate accumulate) {
  if (Status status = checkTypes(inits, body); !status)
    return status.error();
  size_t n = inputs.size();
  Shape resultShape;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!reduced[d])
      resultShape.push_back(shape[d]);
  std::vector<Tensor> results;
  std::vector<std::byte *> outputs;
  std::vector<FoldLayout> layouts;
  for (size_t i = 0; i < n; ++i) {
    Result<Tensor> result = Tensor::uninitialized(body.resultTypes()[i], resultShape);
    if (!result)
      return result.error();
    results.push_back(std::move(*result));
    outputs.push_back(results.back().mutableData());
    layouts.emplace_back(shape, inputs[i].strides, reduced);
  }
  if (results[0].size() == 0)
    return results;
  if (layouts[0].reducedCount == 0) {
    for (size_t i = 0; i < n; ++i)
      fillElements(outputs[i], inits[i].data(), info(inits[i].dtype()).bytes, results[i].size());
    return results;
  }
  if (std::optional<KnownFunction> known = loopOf(body, accumulate); known && n == 1) {
    foldKnown({*known, inputs[0].stored, inits[0].dtype(), accumulate, inputs[0].data,
               inits[0].data(), outputs[0]},
              layouts[0]);
    return results;
  }
  LaneFold lanes(inputs, std::move(layouts), inits, std::move(outputs), body);
  if (Status status = lanes.run(accumulate == Accumulate::Wide); !status)
    return status.error();
  return results;
}

Result<std::vector<Tensor>> reduce(std::span<const Tensor> inputs, std::span<const Tensor> inits,
                                   std::span<const int64_t> dimensions, const ElementFunction &body,
                                   Accumulate accumulate) {
  if (inputs.empty() || inputs.size() != inits.size())
    return Error{"reduce: " + std::to_string(inputs.size()) + " inputs and " +
                 std::to_string(inits.size()) + " initial values"};
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].dtype() != inits[i].dtype() ||
        !std::ranges::equal(inputs[i].shape(), inputs[0].shape()))
      return Error{"reduce: input " + std::to_string(i) + ", " +
                   tensor::describe(inputs[i].elementType(), inputs[i].shape()) +
                   ", does not go with the first input or its initial value"};
  std::vector<bool> reduced(static_cast<size_t>(inputs[0].rank()), false);
  for (int64_t d : dimensions) {
    if (d < 0 || d >= inputs[0].rank() || reduced[static_cast<size_t>(d)])
      return Error{"reduce: dimension " + std::to_string(d) + " is no dimension of " +
                   tensor::describe(inputs[0].elementType(), inputs[0].shape()) +
                   " or named twice"};
    reduced[static_cast<size_t>(d)] = true;
  }
  Result<std::vector<Tensor>> stored = storedForFold(inputs, body, accumulate);
  if (!stored)
    return stored;
  std::vector<FoldView> views;
  for (const Tensor &input : *stored)
    views.push_back({input.data(), input.dtype(),
                     std::vector<int64_t>(input.strides().begin(), input.strides().end())});
  return fold(views, inputs[0].shape(), reduced, inits, body, accumulate);
}

} // namespace cupel::reference
