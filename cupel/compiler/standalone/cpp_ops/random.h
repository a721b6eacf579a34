// Random bits, by the algorithms that programs name.
#pragma once

#include "tensor.h"

namespace ops {

/// Threefry-2x32 with 20 rounds.
inline std::pair<uint32_t, uint32_t> threefry(uint64_t key, uint64_t counter) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t low = uint32_t(key), high = uint32_t(key >> 32), keys[3] = {low, high, 0x1BD11BDAu ^ low ^ high};
  uint32_t x = uint32_t(counter) + keys[0], y = uint32_t(counter >> 32) + keys[1];
  for (uint32_t group = 1; group <= 5; ++group) {
    for (int by : rotations[(group - 1) % 2]) {
      x += y;
      y = ((y << by) | (y >> (32 - by))) ^ x;
    }
    x += keys[group % 3];
    y += keys[(group + 1) % 3] + group;
  }
  return {x, y};
}
struct Four {
  uint32_t word[4];
};
/// Philox-4x32 with 10 rounds.
inline Four philox(uint64_t key, uint64_t low, uint64_t high) {
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  Four x = {{uint32_t(low), uint32_t(low >> 32), uint32_t(high), uint32_t(high >> 32)}};
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    uint64_t first = uint64_t(x.word[0]) * 0xD2511F53u, second = uint64_t(x.word[2]) * 0xCD9E8D57u;
    x = {{uint32_t(second >> 32) ^ x.word[1] ^ k0, uint32_t(second), uint32_t(first >> 32) ^ x.word[3] ^ k1,
          uint32_t(first)}};
  }
  return x;
}
template <class T> inline T from_word(uint64_t word) {
  if constexpr (is_small_int<T>::value)
    return T(word & ((1u << IntegerTraits<T>::bits) - 1));
  else if constexpr (is_bool_v<T>)
    return (word & 1) != 0;
  else {
    T value;
    std::memcpy(static_cast<void *>(&value), &word, sizeof(T));
    return value;
  }
}
template <class T, class S>
inline std::tuple<Tensor<S>, Tensor<T>> rng_bit_generator(const Tensor<S> &state, const std::string &algorithm,
                                                          const Dims &shape) {
  uint64_t words[3] = {};
  size_t bytes = size_t(state.size()) * sizeof(S);
  std::memcpy(words, state.data(), bytes);
  uint64_t key = words[0], used = 0;
  Tensor<T> bits(shape);
  constexpr bool is_wide = sizeof(T) == 8;
  if (algorithm == "THREE_FRY") {
    if (is_wide || shape.empty()) {
      for (int64_t i = 0; i < bits.size(); ++i, ++used) {
        auto pair = threefry(key, words[1] + used);
        bits[i] = from_word<T>(is_wide ? pair.first | uint64_t(pair.second) << 32 : pair.first);
      }
    } else {
      // Pairs of words are neighbours in the first even dimension, or in the longest one.
      size_t split = shape.size();
      for (size_t d = shape.size(); d-- > 0;)
        if (shape[d] % 2 == 0)
          split = d;
      if (split == shape.size())
        split = size_t(std::max_element(shape.begin(), shape.end()) - shape.begin());
      int64_t outer = 1, inner = 1, size = shape[split], half = (size + 1) / 2;
      for (size_t d = 0; d < shape.size(); ++d)
        if (d != split)
          (d < split ? outer : inner) *= shape[d];
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t h = 0; h < half; ++h)
          for (int64_t i = 0; i < inner; ++i, ++used) {
            auto pair = threefry(key, words[1] + used);
            bits[(o * size + 2 * h) * inner + i] = from_word<T>(pair.first);
            if (2 * h + 1 < size)
              bits[(o * size + 2 * h + 1) * inner + i] = from_word<T>(pair.second);
          }
    }
    words[1] += used;
  } else {
    uint64_t low = words[1], high = bytes == 24 ? words[2] : key;
    constexpr int64_t per = is_wide ? 2 : 4;
    for (int64_t i = 0; i < bits.size(); i += per, ++used) {
      uint64_t at = low + used;
      Four x = philox(key, at, high + (at < low));
      for (int64_t j = 0; j < per && i + j < bits.size(); ++j)
        bits[i + j] = from_word<T>(is_wide ? x.word[2 * j] | uint64_t(x.word[2 * j + 1]) << 32 : x.word[j]);
    }
    words[1] = low + used;
    words[2] = high + (words[1] < low);
  }
  Tensor<S> next(state.shape);
  std::memcpy(next.data(), words, bytes);
  return {next, bits};
}

/// Each call draws from a stream of its own.
template <class T, class I>
inline Tensor<T> rng(const Tensor<T> &a, const Tensor<T> &b, const Tensor<I> &shape, const std::string &distribution) {
  static uint64_t drawn = 0;
  uint64_t stream = drawn++;
  Tensor<T> result(sizes_of(shape));
  auto word = [&](int64_t i) {
    Four x = philox(0, uint64_t(i / 2), stream);
    return x.word[2 * (i % 2)] | uint64_t(x.word[2 * (i % 2) + 1]) << 32;
  };
  for (int64_t i = 0; i < result.size(); ++i) {
    if constexpr (is_bool_v<T>) {
      result[i] = (word(i) & 1) != 0;
    } else if constexpr (is_integer_v<T>) {
      uint64_t first = widen(a.item()), range = widen(b.item()) - first;
      result[i] = less_equal(b.item(), a.item()) ? a.item() : wrap<T>(first + word(i) % range);
    } else if constexpr (is_float_v<T>) {
      double from = double(a.item()), to = double(b.item());
      if (distribution == "NORMAL") {
        double u = double((word(i / 2 * 2) >> 11) + 1) * 0x1p-53;
        double angle = double(word(i / 2 * 2 + 1) >> 12) * 0x1p-52 * 2 * 3.14159265358979323846;
        double radius = std::sqrt(-2 * std::log(u));
        result[i] = convert<T>(from + to * radius * (i % 2 ? std::sin(angle) : std::cos(angle)));
      } else {
        T value = convert<T>(from + double(word(i) >> 11) * 0x1p-53 * (to - from));
        result[i] = double(value) < to ? value : a.item();
      }
    }
  }
  return result;
}

} // namespace ops
