#include "cupel/reference/Random.h"

#include "cupel/reference/Parallel.h"
#include "cupel/reference/UnitCircle.h"
#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Kind;
using tensor::Shape;
using tensor::Tensor;

uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }
uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint64_t joined(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }
uint32_t rotated(uint32_t value, int by) { return value << by | value >> (32 - by); }

/// Threefry-2x32 with 20 rounds (Salmon and others, 2011).
std::array<uint32_t, 2> threefry(uint64_t key, uint64_t counter) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t keys[3] = {low(key), high(key), 0x1BD11BDA ^ low(key) ^ high(key)};
  uint32_t x = low(counter) + keys[0], y = high(counter) + keys[1];
  for (uint32_t group = 1; group <= 5; ++group) {
    for (int by : rotations[(group - 1) % 2]) {
      x += y;
      y = rotated(y, by) ^ x;
    }
    x += keys[group % 3];
    y += keys[(group + 1) % 3] + group;
  }
  return {x, y};
}

struct Counter128 {
  uint64_t low, high;
  Counter128 plus(uint64_t n) const { return {low + n, high + (low + n < low)}; }
};

/// Philox-4x32 with 10 rounds.
std::array<uint32_t, 4> philox(uint64_t key, Counter128 counter) {
  uint32_t k0 = low(key), k1 = high(key);
  std::array<uint32_t, 4> x{low(counter.low), high(counter.low), low(counter.high),
                            high(counter.high)};
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    uint64_t first = uint64_t{x[0]} * 0xD2511F53, second = uint64_t{x[2]} * 0xCD9E8D57;
    x = {high(second) ^ x[1] ^ k0, low(second), high(first) ^ x[3] ^ k1, low(first)};
  }
  return x;
}

/// About how long a block of random bits takes.
constexpr double kWordNanoseconds = 15;

/// Stores the low bits of `word` as element i.
template <DType type> void storeBits(std::byte *data, int64_t i, uint64_t word) {
  constexpr int bits = tensor::info(type).bits, bytes = tensor::info(type).bytes;
  if constexpr (bits < 8) {
    auto part = static_cast<uint8_t>(word & ((1u << bits) - 1));
    if (tensor::info(type).kind == Kind::Signed && part >> (bits - 1))
      part |= static_cast<uint8_t>(0xff << bits);
    word = part;
  }
  std::memcpy(data + i * bytes, &word, bytes); // low bytes first: little-endian machines only
}

template <DType type> uint64_t fillThreeFry(uint64_t key, uint64_t counter, Tensor &out) {
  std::byte *data = out.mutableData();
  int64_t count = out.size();
  if constexpr (tensor::info(type).bits == 64) {
    forBlocks(count, kWordNanoseconds, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        auto [x, y] = threefry(key, counter + static_cast<uint64_t>(i));
        storeBits<type>(data, i, joined(x, y));
      }
    });
    return static_cast<uint64_t>(count);
  } else {
    if (out.rank() == 0) {
      storeBits<type>(data, 0, threefry(key, counter)[0]);
      return 1;
    }
    int64_t split = -1;
    for (int64_t d = 0; d < out.rank() && split < 0; ++d)
      if (out.dim(d) % 2 == 0)
        split = d;
    if (split < 0)
      split = std::ranges::max_element(out.shape()) - out.shape().begin();
    int64_t outer = 1, inner = 1, size = out.dim(split), half = (size + 1) / 2;
    for (int64_t d = 0; d < out.rank(); ++d)
      (d < split ? outer : d > split ? inner : size) *= d == split ? 1 : out.dim(d);
    forBlocks(outer * half * inner, kWordNanoseconds, [&](int64_t begin, int64_t end) {
      int64_t i = begin % inner, h = begin / inner % half, o = begin / inner / half;
      for (int64_t n = begin; n < end; ++n) {
        auto words = threefry(key, counter + static_cast<uint64_t>(n));
        for (int64_t part = 0; part < 2 && 2 * h + part < size; ++part)
          storeBits<type>(data, (o * size + 2 * h + part) * inner + i, words[part]);
        if (++i < inner)
          continue;
        i = 0;
        if (++h < half)
          continue;
        h = 0;
        ++o;
      }
    });
    return static_cast<uint64_t>(outer * half * inner);
  }
}

template <DType type> uint64_t fillPhilox(uint64_t key, Counter128 counter, Tensor &out) {
  std::byte *data = out.mutableData();
  int64_t count = out.size();
  constexpr int64_t perCounter = tensor::info(type).bits == 64 ? 2 : 4;
  int64_t counters = (count + perCounter - 1) / perCounter;
  forBlocks(counters, kWordNanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      std::array<uint32_t, 4> x = philox(key, counter.plus(static_cast<uint64_t>(c)));
      for (int64_t j = 0; j < perCounter && c * perCounter + j < count; ++j)
        storeBits<type>(data, c * perCounter + j,
                        perCounter == 2 ? joined(x[2 * j], x[2 * j + 1]) : x[j]);
    }
  });
  return static_cast<uint64_t>(counters);
}

/// A stream of 64-bit words, from an even position on.
class Words {
public:
  explicit Words(RandomSource source, int64_t first = 0)
      : key(source.seed), counter{static_cast<uint64_t>(first) / 2, source.stream} {}
  uint64_t next() {
    if (taken == 2) {
      words = philox(key, counter);
      counter = counter.plus(1);
      taken = 0;
    }
    uint64_t word = joined(words[2 * taken], words[2 * taken + 1]);
    ++taken;
    return word;
  }

private:
  uint64_t key;
  Counter128 counter;
  std::array<uint32_t, 4> words{};
  int taken = 2;
};

/// The natural logarithm for 0 < x <= 1, the same on every machine.
double logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double s = (m - 1) / (m + 1), square = s * s, series = 0;
  for (int i = 25; i >= 3; i -= 2)
    series = square * (1.0 / i + series);
  return exponent * 0.69314718055994530942 + 2 * (s + s * series);
}

Status checkBounds(const Tensor &a, const Tensor &b) {
  if (a.size() != 1 || b.size() != 1 || a.dtype() != b.dtype())
    return Error{"rng: the bounds must be scalars of one type, not " +
                 tensor::describe(a.elementType(), a.shape()) + " and " +
                 tensor::describe(b.elementType(), b.shape())};
  return {};
}

template <DType type>
void fillUniform(const Tensor &a, const Tensor &b, RandomSource source, Tensor &out) {
  using T = tensor::Storage<type>;
  T first = *a.dataAs<T>(), last = *b.dataAs<T>();
  T *data = out.mutableAs<T>();
  // Each element takes one word: blocks of an even number of them.
  auto eachWord = [&](auto element) {
    forBlocks(
        out.size(), kWordNanoseconds,
        [&](int64_t begin, int64_t end) {
          Words words(source, begin);
          for (int64_t i = begin; i < end; ++i)
            data[i] = element(words.next());
        },
        2);
  };
  if constexpr (tensor::info(type).kind == Kind::Boolean) {
    eachWord([](uint64_t word) { return static_cast<T>(word & 1); });
  } else if constexpr (tensor::isInteger(type)) {
    bool empty = last <= first;
    uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
    eachWord([&](uint64_t word) {
      return empty ? first : static_cast<T>(static_cast<uint64_t>(first) + word % range);
    });
  } else if constexpr (tensor::isFloat(type)) {
    double from = tensor::toDouble<type>(first), to = tensor::toDouble<type>(last);
    eachWord([&](uint64_t word) {
      double u = static_cast<double>(word >> 11) * 0x1p-53;
      T value = tensor::fromDouble<type>(from + u * (to - from));
      return tensor::toDouble<type>(value) < to ? value : first;
    });
  }
}

template <DType type>
void fillNormal(const Tensor &a, const Tensor &b, RandomSource source, Tensor &out) {
  using T = tensor::Storage<type>;
  if constexpr (tensor::isFloat(type)) {
    double mean = tensor::toDouble<type>(*a.dataAs<T>());
    double deviation = tensor::toDouble<type>(*b.dataAs<T>());
    T *data = out.mutableAs<T>();
    // Two words for two elements.
    forBlocks(
        out.size(), 3 * kWordNanoseconds,
        [&](int64_t begin, int64_t end) {
          Words words(source, begin);
          for (int64_t i = begin; i < end; i += 2) {
            double u = static_cast<double>((words.next() >> 11) + 1) * 0x1p-53; // (0, 1]
            double radius = std::sqrt(-2 * logarithm(u));
            CirclePoint point = circlePoint(words.next() >> 12, uint64_t{1} << 52);
            data[i] = tensor::fromDouble<type>(mean + deviation * (radius * point.cosine));
            if (i + 1 < end)
              data[i + 1] = tensor::fromDouble<type>(mean + deviation * (radius * point.sine));
          }
        },
        2);
  }
}

} // namespace

Result<RandomBits> rngBitGenerator(const Tensor &state, RngAlgorithm algorithm, DType type,
                                   Shape shape) {
  bool threefry = algorithm == RngAlgorithm::ThreeFry;
  int64_t bytes = state.byteSize();
  if (bytes != 16 && (bytes != 24 || threefry))
    return Error{std::string("rng_bit_generator: ") + (threefry ? "THREE_FRY" : "PHILOX") +
                 " cannot start from a state of " +
                 tensor::describe(state.elementType(), state.shape()) + "; give two" +
                 (threefry ? "" : " or three") + " 64-bit words"};
  if (tensor::isComplex(type))
    return Error{"rng_bit_generator: no bits can be generated for complex numbers"};
  Result<Tensor> start = state.contiguous();
  if (!start)
    return start.error();
  Result<Tensor> bits = Tensor::uninitialized(type, std::move(shape));
  if (!bits)
    return bits.error();
  Result<Tensor> next =
      Tensor::uninitialized(state.elementType(), {state.shape().begin(), state.shape().end()});
  if (!next)
    return next.error();

  uint64_t words[3] = {};
  std::memcpy(words, start->data(), bytes);
  uint64_t key = words[0];
  if (threefry) {
    words[1] +=
        tensor::dispatch(type, [&]<DType t>() { return fillThreeFry<t>(key, words[1], *bits); });
  } else {
    // With two words the key is also the high half of the counter, and only the low half is kept.
    Counter128 counter{words[1], bytes == 24 ? words[2] : key};
    uint64_t used =
        tensor::dispatch(type, [&]<DType t>() { return fillPhilox<t>(key, counter, *bits); });
    counter = counter.plus(used);
    words[1] = counter.low;
    words[2] = counter.high;
  }
  std::memcpy(next->mutableData(), words, bytes);
  return RandomBits{std::move(*next), std::move(*bits)};
}

Result<Tensor> rngUniform(const Tensor &a, const Tensor &b, Shape shape, RandomSource source) {
  if (Status ok = checkBounds(a, b); !ok)
    return ok.error();
  if (tensor::isComplex(a.dtype()))
    return Error{"rng: UNIFORM gives no complex numbers"};
  Result<Tensor> result = Tensor::uninitialized(a.dtype(), std::move(shape));
  if (result)
    tensor::dispatch(a.dtype(), [&]<DType type>() { fillUniform<type>(a, b, source, *result); });
  return result;
}

Result<Tensor> rngNormal(const Tensor &a, const Tensor &b, Shape shape, RandomSource source) {
  if (Status ok = checkBounds(a, b); !ok)
    return ok.error();
  if (!tensor::isFloat(a.dtype()))
    return Error{"rng: NORMAL gives floats, not " + a.elementType().str()};
  Result<Tensor> result = Tensor::uninitialized(a.dtype(), std::move(shape));
  if (result)
    tensor::dispatch(a.dtype(), [&]<DType type>() { fillNormal<type>(a, b, source, *result); });
  return result;
}

} // namespace cupel::reference
