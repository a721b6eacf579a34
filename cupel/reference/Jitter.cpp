#include "cupel/reference/Jitter.h"

#include "cupel/compare/Elements.h"
#include "cupel/reference/Parallel.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace cupel::reference {

using tensor::DType;
using tensor::Tensor;

/// A number in [-2^31, 2^31) that tells nothing of its neighbours; 32 bits at a time, which vectors
/// have.
static inline int32_t noiseAt(uint32_t key, uint32_t position) {
  uint32_t x = key + position * 0x9e3779b9u;
  x = (x ^ (x >> 16)) * 0x21f0aaadu;
  x = (x ^ (x >> 15)) * 0x735a2d97u;
  x ^= x >> 15;
  return static_cast<int32_t>(x);
}

/// Both halves of a key as one, and another one for every 2^32 elements.
static uint32_t keyOf(uint64_t key, int64_t position) {
  uint64_t x = key + static_cast<uint64_t>(position >> 32) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<uint32_t>(x >> 32);
}

/// One rounding of a type as a share of a value, where a device computes in steps of `epsilon`.
static double stepOf(DType type, double epsilon, double doubles) {
  int bits = compare::mantissaBits(compare::partType(type));
  if (bits > 23)
    return std::max(doubles, 0x1p-52);
  return std::max(epsilon, std::ldexp(1.0, bits == 23 ? -23 : -bits - 1));
}

/// The bits of a number in 32.
template <typename Part> static uint32_t bitsOf(const Part &value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(Part));
  return static_cast<uint32_t>(bits ^ (bits >> 32));
}

/// Whether a few values make most of a tensor, as far as 64 of its elements tell.
template <typename Part> static bool isRepetitive(const Part *values, int64_t count) {
  constexpr int64_t kLooks = 64;
  if (count < kLooks)
    return false;
  std::array<uint32_t, kLooks> seen;
  for (int64_t i = 0; i < kLooks; ++i)
    seen[i] = bitsOf(values[count / kLooks * i + i % (count / kLooks)]);
  std::ranges::sort(seen);
  return std::ranges::unique(seen).begin() - seen.begin() <= kLooks / 2;
}

/// Whether a stored number is neither infinite nor NaN, by its bits where that is quicker.
template <DType type> static inline bool isFiniteStored(tensor::Storage<type> stored) {
  if constexpr (type == DType::F32)
    return (std::bit_cast<uint32_t>(stored) & 0x7f800000) != 0x7f800000;
  else if constexpr (type == DType::BF16)
    return (stored & 0x7f80) != 0x7f80;
  else
    return std::isfinite(tensor::toDouble<type>(stored));
}

/// As tensor::fromDouble, which takes more instructions for bf16 than a vector of halves is worth:
/// f32, which has its exponents, is rounded to odd first, so that the second rounding is right. A
/// NaN stays some NaN.
template <DType type> static inline tensor::Storage<type> nearest(double value) {
  if constexpr (type == DType::BF16) {
    auto close = static_cast<float>(value);
    double back = close;
    auto bits = std::bit_cast<uint32_t>(close);
    bits = (bits - (std::fabs(back) > std::fabs(value) ? 1 : 0)) | (back != value ? 1 : 0);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    // Of a NaN the payload may lie in bits that are cut off.
    return static_cast<uint16_t>(value != value ? bits >> 16 | 0x40 : rounded);
  } else {
    return tensor::fromDouble<type>(value);
  }
}

/// Elements [begin, end) of a tensor and where they go, which may be where they are.
template <typename Part> struct Moved {
  const Part *source;
  Part *target;
  int64_t begin, end;
  double step;
  uint32_t key;
};

/// Infinity and NaN stay what they are: neither becomes another by a factor near 1. The largest
/// numbers stay finite. Equal numbers move alike `byValue`, else each as its place has it.
template <DType part, bool byValue>
[[gnu::always_inline]] inline void moveTo(const Moved<tensor::Storage<part>> &all,
                                          const tensor::Storage<part> *source) {
#pragma clang fp contract(off)
  const double step = all.step * 0x1p-31;
  for (int64_t i = all.begin; i < all.end; ++i) {
    const auto stored = source[i];
    double value = tensor::toDouble<part>(stored);
    uint32_t which = byValue ? bitsOf(stored) : static_cast<uint32_t>(i);
    double moved = value * (1 + step * noiseAt(all.key, which));
    auto rounded = nearest<part>(moved);
    bool overflows = !isFiniteStored<part>(rounded) && isFiniteStored<part>(stored);
    all.target[i] = overflows ? stored : rounded;
  }
}

/// Of two pointers that are equal a compiler does not know that, and vectors are only for memory
/// that it sees to be the same or apart.
template <DType part, bool byValue>
[[gnu::always_inline]] inline void moveAll(const Moved<tensor::Storage<part>> &all) {
  if (all.source == all.target)
    moveTo<part, byValue>(all, all.target);
  else
    moveTo<part, byValue>(all, all.source);
}

// The same loop with the vectors of this machine: products are never fused with sums, so that every
// machine moves numbers by the same amounts.
template <DType part, bool byValue> void movePlainly(const Moved<tensor::Storage<part>> &all) {
  moveAll<part, byValue>(all);
}
#if defined(__x86_64__)
template <DType part, bool byValue>
__attribute__((target("avx2"))) void moveByAvx2(const Moved<tensor::Storage<part>> &all) {
  moveAll<part, byValue>(all);
}
template <DType part, bool byValue>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void
moveByAvx512(const Moved<tensor::Storage<part>> &all) {
  moveAll<part, byValue>(all);
}
#endif

template <DType part, bool byValue> auto moverHere() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return &moveByAvx512<part, byValue>;
  if (__builtin_cpu_supports("avx2"))
    return &moveByAvx2<part, byValue>;
#endif
  return &movePlainly<part, byValue>;
}

template <DType type>
static void move(const std::byte *from, std::byte *to, int64_t elements, double step,
                 uint64_t key) {
  constexpr bool isComplex = tensor::isComplex(type);
  constexpr DType part = type == DType::C64 ? DType::F32 : type == DType::C128 ? DType::F64 : type;
  using Part = tensor::Storage<part>;
  const Part *source = reinterpret_cast<const Part *>(from);
  Part *target = reinterpret_cast<Part *>(to);
  const int64_t count = elements * (isComplex ? 2 : 1);
  // The same operation on the same numbers rounds the same way: where a few values make the tensor
  // their errors do not average out, and equal ones are moved alike. Not in narrow types, where a
  // value stays or becomes its neighbour: it would be all or nothing.
  bool isByValue = false;
  auto mover = moverHere<part, false>();
  if constexpr (sizeof(Part) >= 4)
    if (isRepetitive(source, count)) {
      isByValue = true;
      mover = moverHere<part, true>();
    }
  forBlocks(count, 1.0, [&](int64_t begin, int64_t end) {
    mover({source, target, begin, end, step, keyOf(key, isByValue ? 0 : begin)});
  });
}

template <DType type> MovedParts::Writer MovedParts::writerOf(const Tensor &source) {
  using Part = tensor::Storage<type>;
  auto make = []<bool byValue>() -> Writer {
    return [](const MovedParts &all, int64_t begin, int64_t count, std::byte *to) {
      // Where the first element of all would go.
      auto origin = reinterpret_cast<uintptr_t>(to) - uintptr_t(begin) * sizeof(Part);
      static const auto mover = moverHere<type, byValue>();
      mover({all.source.dataAs<Part>(), reinterpret_cast<Part *>(origin), begin, begin + count,
             all.step, keyOf(all.key, 0)});
    };
  };
  if constexpr (sizeof(Part) >= 4)
    if (isRepetitive(source.dataAs<Part>(), source.size()))
      return make.template operator()<true>();
  return make.template operator()<false>();
}

std::optional<MovedParts> MovedParts::of(Tensor tensor, double epsilon, double doubles,
                                         uint64_t key, double times) {
  constexpr int64_t kPositions = int64_t{1} << 32;
  if (!tensor::isFloat(tensor.dtype()) || epsilon <= 0 || tensor.size() == 0 ||
      tensor.size() >= kPositions || tensor.deferred() || !tensor.isContiguous())
    return std::nullopt;
  const double step = times * stepOf(tensor.dtype(), epsilon, doubles);
  Writer writer = nullptr;
  tensor::dispatch(tensor.dtype(), [&]<DType type>() {
    if constexpr (tensor::isFloat(type))
      writer = writerOf<type>(tensor);
  });
  return MovedParts(std::move(tensor), step, key, writer);
}

Result<Tensor> MovedParts::whole() const {
  Result<Tensor> moved = Tensor::uninitialized(source.elementType(),
                                               {source.shape().begin(), source.shape().end()});
  if (!moved)
    return moved;
  std::byte *to = moved->mutableData();
  const int64_t bytes = info(source.dtype()).bytes;
  forBlocks(source.size(), 1.0, [&](int64_t begin, int64_t end) {
    write(begin, end - begin, to + begin * bytes);
  });
  return moved;
}

Status jitter(Tensor &tensor, double epsilon, double doubles, uint64_t key, double times) {
  bool isNumber = tensor::isFloat(tensor.dtype()) || tensor::isComplex(tensor.dtype());
  if (!isNumber || epsilon <= 0 || tensor.size() == 0)
    return {};
  std::byte *to = tensor.mutableData();
  const std::byte *from = to;
  Tensor source, result;
  if (!to) {
    Result<Tensor> whole = tensor.contiguous();
    if (!whole)
      return whole.error();
    Result<Tensor> moved = Tensor::uninitialized(tensor.elementType(),
                                                 {tensor.shape().begin(), tensor.shape().end()});
    if (!moved)
      return moved.error();
    source = std::move(*whole);
    result = std::move(*moved);
    from = source.data();
    to = result.mutableData();
  }
  double step = times * stepOf(tensor.dtype(), epsilon, doubles);
  tensor::dispatch(tensor.dtype(), [&]<DType type>() {
    if constexpr (tensor::isFloat(type) || tensor::isComplex(type))
      move<type>(from, to, tensor.size(), step, key);
  });
  if (from != to)
    tensor = std::move(result);
  return {};
}

Result<Tensor> jittered(Tensor tensor, double epsilon, double doubles, uint64_t key,
                        double times) {
  Status done = jitter(tensor, epsilon, doubles, key, times);
  return done ? Result<Tensor>(std::move(tensor)) : Result<Tensor>(done.error());
}

} // namespace cupel::reference
