#include "cupel/testbench/worker/NearbyInputs.h"

#include "cupel/support/ThreadPool.h"
#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Fill.h"
#include "cupel/tensor/MappedPages.h"
#include "cupel/testbench/worker/Looks.h"

#include <algorithm>
#include <cstring>

#pragma STDC FP_CONTRACT OFF

namespace cupel::testbench::worker {

namespace {

using tensor::DType;
using tensor::Tensor;

/// Factors near one for two numbers of each of `blocks` blocks of the generator (tensor::philox4x32), from block `first`
/// on: far enough from one that narrow types see it. Those of numbers that tensor::randomTensor draws between -1 and 1 with
/// this key. Written so that blocks lie side by side in vectors: every word has 64 bits, of which the lower ones count.
[[gnu::always_inline]] inline void drawFactors(tensor::FillKey key, uint64_t first, int64_t blocks,
                                               double *__restrict factors) {
  constexpr uint64_t kLow = 0xffffffff;
  auto factorOf = [](uint64_t low, uint64_t high) {
    double u = -1 + 2 * (double(int64_t(((low & kLow) | high << 32) >> 11)) * 0x1p-53);
    return 1 + (u < 0 ? u - 1 : u + 1) / 32;
  };
  for (int64_t i = 0; i < blocks; ++i) {
    const uint64_t block = first + uint64_t(i);
    uint64_t c0 = block, c1 = block >> 32, c2 = key.stream, c3 = key.stream >> 32;
    uint64_t k0 = key.seed & kLow, k1 = key.seed >> 32;
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = (c0 & kLow) * 0xD2511F53, p1 = (c2 & kLow) * 0xCD9E8D57;
      c0 = p1 >> 32 ^ c1 ^ k0;
      c1 = p1;
      c2 = p0 >> 32 ^ c3 ^ k1;
      c3 = p0;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    factors[2 * i] = factorOf(c0, c1);
    factors[2 * i + 1] = factorOf(c2, c3);
  }
}

[[gnu::always_inline]] inline void multiply(double *__restrict numbers,
                                            const double *__restrict factors, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    numbers[i] *= factors[i];
}

constexpr int64_t kBlock = 4096;

/// Multiplies numbers by factors of their own; they are the sequence's from `first` on, which is even.
[[gnu::always_inline]] inline void moveNumbers(tensor::FillKey key, int64_t first, int64_t count,
                                               double *numbers) {
  double factors[kBlock + 1];
  drawFactors(key, uint64_t(first) / 2, (count + 1) / 2, factors);
  multiply(numbers, factors, count);
}

using MoveNumbers = void (*)(tensor::FillKey, int64_t, int64_t, double *);

void movePlainly(tensor::FillKey key, int64_t first, int64_t count, double *numbers) {
  moveNumbers(key, first, count, numbers);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) void moveByAvx2(tensor::FillKey key, int64_t first, int64_t count,
                                                double *numbers) {
  moveNumbers(key, first, count, numbers);
}
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) void
moveByAvx512(tensor::FillKey key, int64_t first, int64_t count, double *numbers) {
  moveNumbers(key, first, count, numbers);
}
#endif

MoveNumbers movingOfThisMachine() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return moveByAvx512;
  if (__builtin_cpu_supports("avx2"))
    return moveByAvx2;
#endif
  return movePlainly;
}

/// Every number times something near one, each by something else. A few at a time: wide copies of weights would take
/// several times the memory of these.
Result<Tensor> moved(const Tensor &given, tensor::FillKey key) {
  constexpr int64_t kPiece = 64 * kBlock;
  static const MoveNumbers move = movingOfThisMachine();
  DType type = given.dtype();
  DType part = type == DType::C64 ? DType::F32 : type == DType::C128 ? DType::F64 : type;
  Result<Tensor> source = given.contiguous();
  Result<Tensor> result =
      Tensor::uninitialized(type, tensor::Shape(given.shape().begin(), given.shape().end()));
  if (!source || !result)
    return Error{"no memory"};
  const int64_t bytes = tensor::info(part).bytes, count = given.byteSize() / bytes;
  const std::byte *from = source->data();
  std::byte *to = result->mutableData();
  runPieces((count + kPiece - 1) / kPiece, coreCount(), [&](int64_t piece) {
    double numbers[kBlock];
    for (int64_t at = piece * kPiece; at < std::min(count, (piece + 1) * kPiece); at += kBlock) {
      int64_t some = std::min(kBlock, count - at);
      tensor::convertElements(part, from + at * bytes, DType::F64, numbers, some);
      move(key, at, some, numbers);
      tensor::convertElements(DType::F64, numbers, part, to + at * bytes, some);
    }
  });
  tensor::giveBackPages(tensor::contiguousBytes(given));
  return result;
}

/// The elements in another order.
Result<Tensor> rotated(const Tensor &given, int64_t by) {
  Result<Tensor> source = given.contiguous();
  Result<Tensor> result = Tensor::uninitialized(
      given.elementType(), tensor::Shape(given.shape().begin(), given.shape().end()));
  if (!source || !result)
    return Error{"no memory"};
  int64_t bytes = given.byteSize(), shift = by % given.size() * (bytes / given.size());
  std::memcpy(result->mutableData(), source->data() + shift, size_t(bytes - shift));
  std::memcpy(result->mutableData() + (bytes - shift), source->data(), size_t(shift));
  return result;
}

bool isMovable(const Tensor &tensor) {
  return (tensor::isFloat(tensor.dtype()) || tensor::isComplex(tensor.dtype())) &&
         tensor.size() > 0;
}

} // namespace

std::optional<TensorLists> nearbyInputs(const TensorLists &inputs, size_t count, uint32_t look) {
  TensorLists others = inputs;
  bool hasFloats = std::ranges::any_of(inputs, [&](const std::vector<Tensor> &list) {
    return std::ranges::any_of(list.begin(), list.begin() + int64_t(std::min(count, list.size())),
                               isMovable);
  });
  for (size_t d = 0; d < others.size(); ++d)
    for (size_t i = 0; i < std::min(count, others[d].size()); ++i) {
      Tensor &one = others[d][i];
      Result<Tensor> other = one;
      if (isMovable(one)) {
        other = moved(one, {look, i + (uint64_t(d) << 32)});
      } else if (one.dtype() == DType::I1 && one.size() == 1) {
        bool value = *one.dataAs<uint8_t>() != 0;
        other = Tensor::of<DType::I1>(tensor::Shape(one.shape().begin(), one.shape().end()),
                                      {uint8_t(value == (look % 2 == 0))});
      } else if (!hasFloats && one.size() > 1 && !one.elementType().quantization) {
        other = rotated(one, look);
      }
      if (!other)
        return std::nullopt;
      one = std::move(*other);
    }
  if (areSame(others, inputs))
    return std::nullopt;
  return others;
}

} // namespace cupel::testbench::worker
