#include "cupel/compiler/backends/cpu/Boxes.h"

#include "cupel/compiler/backends/cpu/Threads.h"

#include <cstring>

namespace cupel::compiler {

llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

BoxCopy::BoxCopy(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> from,
                 llvm::ArrayRef<int64_t> to, int64_t elementBytes)
    : element(elementBytes) {
  llvm::SmallVector<Dimension, 4> all;
  total = elementBytes;
  for (size_t d = 0; d < sizes.size(); ++d) {
    total *= sizes[d];
    if (sizes[d] == 1)
      continue;
    Dimension one{sizes[d], from[d] * elementBytes, to[d] * elementBytes};
    if (!all.empty() && all.back().from == one.from * one.size && all.back().to == one.to * one.size)
      all.back() = {all.back().size * one.size, one.from, one.to};
    else
      all.push_back(one);
  }
  count = 1;
  fromStep = toStep = elementBytes;
  if (!all.empty()) {
    count = all.back().size;
    fromStep = all.back().from;
    toStep = all.back().to;
    all.pop_back();
  }
  outer = std::move(all);
  runCount = 1;
  for (const Dimension &dimension : outer)
    runCount *= dimension.size;
}

template <typename T>
static void copyElements(const std::byte *from, std::byte *to, int64_t count, int64_t fromStep,
                         int64_t toStep) {
  for (int64_t i = 0; i < count; ++i)
    *reinterpret_cast<T *>(to + i * toStep) = *reinterpret_cast<const T *>(from + i * fromStep);
}

void BoxCopy::oneRun(const std::byte *from, std::byte *to) const {
  if (fromStep == element && toStep == element) {
    std::memcpy(to, from, size_t(count * element));
    return;
  }
  switch (element) {
  case 1: return copyElements<uint8_t>(from, to, count, fromStep, toStep);
  case 2: return copyElements<uint16_t>(from, to, count, fromStep, toStep);
  case 4: return copyElements<uint32_t>(from, to, count, fromStep, toStep);
  case 8: return copyElements<uint64_t>(from, to, count, fromStep, toStep);
  default:
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * toStep, from + i * fromStep, size_t(element));
  }
}

void BoxCopy::runs(const std::byte *from, std::byte *to, int64_t begin, int64_t end) const {
  llvm::SmallVector<int64_t, 4> index(outer.size());
  int64_t rest = begin;
  for (size_t d = outer.size(); d-- > 0;) {
    index[d] = rest % outer[d].size;
    rest /= outer[d].size;
    from += index[d] * outer[d].from;
    to += index[d] * outer[d].to;
  }
  for (int64_t i = begin; i < end; ++i) {
    oneRun(from, to);
    for (size_t d = outer.size(); d-- > 0;) {
      from += outer[d].from;
      to += outer[d].to;
      if (++index[d] < outer[d].size)
        break;
      from -= outer[d].from * outer[d].size;
      to -= outer[d].to * outer[d].size;
      index[d] = 0;
    }
  }
}

void BoxCopy::run(const std::byte *from, std::byte *to) const {
  if (total == 0)
    return;
  if (outer.empty())
    return oneRun(from, to);
  runs(from, to, 0, runCount);
}

void BoxCopy::runShared(const std::byte *from, std::byte *to) const {
  constexpr int64_t kPart = 1 << 18; // Bytes.
  if (total <= kPart)
    return run(from, to);
  constexpr double kNanosecondsPerByte = 0.1;
  if (outer.empty() && fromStep == element && toStep == element) {
    int64_t parts = (total + kPart - 1) / kPart;
    kernelPool().parallelFor(parts, double(kPart) * kNanosecondsPerByte, [&](int64_t part) {
      int64_t begin = part * kPart, end = std::min(total, begin + kPart);
      std::memcpy(to + begin, from + begin, size_t(end - begin));
    });
    return;
  }
  int64_t perPart = std::max<int64_t>(1, runCount * kPart / total);
  int64_t parts = (runCount + perPart - 1) / perPart;
  kernelPool().parallelFor(parts, double(kPart) * kNanosecondsPerByte, [&](int64_t part) {
    runs(from, to, part * perPart, std::min(runCount, (part + 1) * perPart));
  });
}

} // namespace cupel::compiler
