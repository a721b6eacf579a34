// Convolutions of each channel by itself: vectors of channels, with a few pixels of a line side by
// side so that what they share of the input is loaded once. Included by the files compiled for one
// instruction set. An element's terms are added in the order of taps, whichever function does it.

#pragma once

#include "cupel/kernels/FinishKernels.h"
#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

/// A vector of channels of an image in f32, or in bf16; or the first `count` of them.
inline Vector loadChannels(const float *from) { return load(from); }
inline Vector loadChannels(const uint16_t *from) { return loadWidened(from, kWidth); }
inline Vector loadSomeChannels(const float *from, int64_t count) { return loadPart(from, count); }
inline Vector loadSomeChannels(const uint16_t *from, int64_t count) { return loadWidened(from, count); }

template <typename Element> const Element *lineOf(const DepthwiseSpan &span, int64_t i) { return static_cast<const Element *>(span.line[i]); }

/// What pixels side by side have become, with all that is done to it; of the last vectors, `count` channels are there.
template <int pixels, int vectors>
[[gnu::always_inline]] inline void storeSums(Vector (&sums)[pixels][vectors], const DepthwiseSpan &span, int64_t x, int64_t channel,
                                             int64_t count = kWidth) {
#pragma unroll
  for (int v = 0; v < vectors; ++v)
    if (span.bias) {
      const float *from = span.bias + channel + v * kWidth;
      Vector bias = v + 1 < vectors || count == kWidth ? load(from) : loadPart(from, count);
#pragma unroll
      for (int p = 0; p < pixels; ++p)
        sums[p][v] = sums[p][v] + bias;
    }
  putSums(sums, span.finish, span.row + x, span.column + channel, count, span.c + x * span.ldc + channel, span.ldc);
}

/// How channels of an image become vectors: one at a time ...
template <typename Type> struct OneVector {
  using Element = Type;
  static constexpr int kVectors = 1;
  [[gnu::always_inline]] static void read(const Element *from, Vector (&to)[1]) {
    to[0] = loadChannels(from);
  }
  [[gnu::always_inline]] static void readWeights(const float *from, Vector (&to)[1]) {
    to[0] = load(from);
  }
  [[gnu::always_inline]] static void putInOrder(Vector (&)[1]) {}
};

#if defined(__AVX512F__)
/// ... or two of bf16 at once, the channels of even places and those of odd ones: each is one
/// instruction away from what lies in memory, and none of them takes channels across the vector.
struct EvenAndOdd {
  using Element = uint16_t;
  static constexpr int kVectors = 2;
  using Bits = uint32_t __attribute__((ext_vector_type(kWidth)));
  [[gnu::always_inline]] static void read(const Element *from, Vector (&to)[2]) {
    Bits pairs;
    __builtin_memcpy(&pairs, from, sizeof pairs);
    to[0] = __builtin_bit_cast(Vector, pairs << 16);
    to[1] = __builtin_bit_cast(Vector, pairs & 0xffff0000u);
  }
  [[gnu::always_inline]] static void readWeights(const float *from, Vector (&to)[2]) {
    Vector low = load(from), high = load(from + kWidth);
    to[0] = __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26,
                                    28, 30);
    to[1] = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27,
                                    29, 31);
  }
  [[gnu::always_inline]] static void putInOrder(Vector (&sums)[2]) {
    Vector even = sums[0], odd = sums[1];
    sums[0] =
        __builtin_shufflevector(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    sums[1] = __builtin_shufflevector(even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                                      30, 15, 31);
  }
};
#endif

/// What lies beside a line.
alignas(64) constexpr float kBeside[2 * kWidth] = {};

/// Where pixels lie whose taps some function computes: the first or the last column that they read is one beside the line, and no other is; or
/// nothing is known.
enum class Beside { Nothing, First, Last, Both, Any };

/// Some channels of `pixels` pixels side by side, from pixel x on. What taps find beside the line
/// is zero, which changes no sum: weights are finite.
template <typename Channels, int columns, int stride, int pixels, Beside beside>
[[gnu::always_inline]] inline void depthwiseTile(const DepthwiseSpan &span, int64_t x,
                                                 int64_t channel) {
  using Element = typename Channels::Element;
  constexpr int kInputs = (pixels - 1) * stride + columns, kVectors = Channels::kVectors;
  const int64_t first = span.first + x * stride, step = span.step, pitch = span.pitch;
  Vector sums[pixels][kVectors] = {};
#pragma clang loop unroll(disable)
  for (int64_t i = 0; i < span.lines; ++i) {
    const Element *line = lineOf<Element>(span, i) + channel;
    Vector weights[columns][kVectors];
#pragma unroll
    for (int k = 0; k < columns; ++k)
      Channels::readWeights(span.weights[i] + k * pitch + channel, weights[k]);
#pragma unroll
    for (int n = 0; n < kInputs; ++n) {
      const Element *from = line + (first + n) * step;
      if constexpr (beside == Beside::Any)
        from = first + n >= 0 && first + n < span.width
                   ? from
                   : reinterpret_cast<const Element *>(kBeside);
      Vector input[kVectors] = {};
      // Compilers would load all of them first, for which there are not enough registers. Larger kernels were measured to be slower so.
      if constexpr (columns == 3)
        asm volatile("" ::: "memory");
      constexpr bool isFirst = beside == Beside::First || beside == Beside::Both, isLast = beside == Beside::Last || beside == Beside::Both;
      if (!(isFirst && n == 0) && !(isLast && n + 1 == kInputs))
        Channels::read(from, input);
      // In the order of taps for each pixel, since inputs are in the order of columns.
#pragma unroll
      for (int k = 0; k < columns; ++k)
        if (n >= k && (n - k) % stride == 0 && (n - k) / stride < pixels)
#pragma unroll
          for (int v = 0; v < kVectors; ++v)
            sums[(n - k) / stride][v] += input[v] * weights[k][v];
    }
  }
#pragma unroll
  for (int p = 0; p < pixels; ++p)
    Channels::putInOrder(sums[p]);
  storeSums(sums, span, x, channel);
}

/// Most pixels that are computed side by side, and fewer of them. Lines of most networks for images
/// are multiples of seven.
constexpr int kManyPixels = 7, kSomePixels = 4;

template <typename Channels, int columns, int stride>
[[gnu::always_inline]] inline void depthwisePixels(const DepthwiseSpan &span, int64_t x,
                                                   int64_t count, int64_t channel) {
  if (count == 1)
    return depthwiseTile<Channels, columns, stride, 1, Beside::Any>(span, x, channel);
  if (count == kSomePixels)
    return depthwiseTile<Channels, columns, stride, kSomePixels, Beside::Any>(span, x, channel);
  const int64_t first = span.first + x * stride, left = span.width - first - ((kManyPixels - 1) * stride + columns);
  if (first >= 0 && left >= 0)
    return depthwiseTile<Channels, columns, stride, kManyPixels, Beside::Nothing>(span, x, channel);
  if constexpr (columns == 3) {
    if (first == -1 && left >= 0)
      return depthwiseTile<Channels, columns, stride, kManyPixels, Beside::First>(span, x, channel);
    if (first >= 0 && left == -1)
      return depthwiseTile<Channels, columns, stride, kManyPixels, Beside::Last>(span, x, channel);
    if (first == -1 && left == -1)
      return depthwiseTile<Channels, columns, stride, kManyPixels, Beside::Both>(span, x, channel);
  }
  depthwiseTile<Channels, columns, stride, kManyPixels, Beside::Any>(span, x, channel);
}

/// Some pixels with all their channels.
template <typename Element, int columns, int stride>
void depthwiseStep(const DepthwiseSpan &span, int64_t x, int64_t count, int64_t channel,
                   int64_t end) {
  // The last vectors again, with some channels before them: nothing is accumulated in the result.
#if defined(__AVX512F__)
  constexpr int kPair = 2 * kWidth;
  if constexpr (sizeof(Element) == sizeof(uint16_t)) {
    for (; channel + kPair <= end; channel += kPair)
      depthwisePixels<EvenAndOdd, columns, stride>(span, x, count, channel);
    if (channel + kWidth < end && end >= kPair) {
      depthwisePixels<EvenAndOdd, columns, stride>(span, x, count, end - kPair);
      return;
    }
  }
#endif
  for (; channel + kWidth <= end; channel += kWidth)
    depthwisePixels<OneVector<Element>, columns, stride>(span, x, count, channel);
  if (channel < end)
    depthwisePixels<OneVector<Element>, columns, stride>(span, x, count, end - kWidth);
}

/// Calls `compute` with the pixels of a line, some at a time; some of the last ones are computed
/// twice where that takes less time than one by one.
template <typename F> [[gnu::always_inline]] inline void forPixels(int64_t pixels, F &&compute) {
  int64_t x = 0;
  while (x < pixels) {
    int64_t left = pixels - x;
    bool areFew = left <= kSomePixels || left == 2 * kSomePixels || pixels < kManyPixels;
    int64_t count = pixels < kSomePixels ? 1 : areFew ? kSomePixels : kManyPixels;
    int64_t at = x + count <= pixels ? x : pixels - count;
    compute(at, count);
    x = at + count;
  }
}

/// A line of a kernel with so many columns and any number of lines.
template <typename Element, int columns, int stride>
void depthwiseSpan(const DepthwiseSpan &given) {
  const DepthwiseSpan span = given;
  // With all their channels, as memory has them: a vector of channels along a long line would touch
  // a part of every pixel, which no prefetcher follows.
  int64_t block =
      span.pixels > kMostShortPixels || span.channels < 4 * kWidth ? span.channels : 2 * kWidth;
  for (int64_t channel = 0; channel < span.channels; channel += block) {
    int64_t end = channel + 2 * block <= span.channels ? channel + block : span.channels;
    forPixels(span.pixels, [&](int64_t x, int64_t count) {
      depthwiseStep<Element, columns, stride>(span, x, count, channel, end);
    });
    if (end == span.channels)
      break;
  }
}

/// Some pixels side by side, some vectors of channels side by side: sums that do not wait for each other.
template <typename Element, int pixels, int vectors>
inline void depthwiseBlock(const DepthwiseSpan &span, int64_t x, int64_t channel) {
  Vector sums[pixels][vectors] = {};
  const int64_t stride = span.stride, step = span.step, pitch = span.pitch, columns = span.columns;
  for (int64_t i = 0; i < span.lines; ++i) {
    const Element *input = lineOf<Element>(span, i) + x * stride + channel;
    const float *weights = span.weights[i] + channel;
    for (int64_t k = 0; k < columns; ++k, input += step, weights += pitch)
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        Vector weight = load(weights + v * kWidth);
#pragma unroll
        for (int p = 0; p < pixels; ++p)
          sums[p][v] += loadChannels(input + p * stride + v * kWidth) * weight;
      }
  }
  storeSums(sums, span, x, channel);
}

/// The channels that do not fill a vector, of some pixels side by side.
template <typename Element, int pixels>
inline void depthwiseRest(const DepthwiseSpan &span, int64_t x, int64_t channel) {
  Vector sums[pixels][1] = {};
  const int64_t stride = span.stride, step = span.step, pitch = span.pitch, columns = span.columns, count = span.channels - channel;
  for (int64_t i = 0; i < span.lines; ++i) {
    const Element *input = lineOf<Element>(span, i) + x * stride + channel;
    const float *weights = span.weights[i] + channel;
    for (int64_t k = 0; k < columns; ++k, input += step, weights += pitch) {
      Vector weight = loadPart(weights, count);
#pragma unroll
      for (int p = 0; p < pixels; ++p)
        sums[p][0] += loadSomeChannels(input + p * stride, count) * weight;
    }
  }
  storeSums(sums, span, x, channel, count);
}

/// All channels of some pixels.
template <typename Element, int pixels, int vectors>
inline void depthwiseChannels(const DepthwiseSpan &span, int64_t x) {
  int64_t channel = 0;
  for (; channel + vectors * kWidth <= span.channels; channel += vectors * kWidth)
    depthwiseBlock<Element, pixels, vectors>(span, x, channel);
  for (; channel + kWidth <= span.channels; channel += kWidth)
    depthwiseBlock<Element, pixels, 1>(span, x, channel);
  if (channel < span.channels)
    depthwiseRest<Element, pixels>(span, x, channel);
}

/// Any kernel and any number of channels.
template <typename Element> void depthwiseAny(const DepthwiseSpan &given) {
  constexpr int kMostPixels = 8, kVectors = 4;
  const DepthwiseSpan span = given;
  int64_t x = 0;
  for (; x + kMostPixels <= span.pixels; x += kMostPixels)
    depthwiseChannels<Element, kMostPixels, 1>(span, x);
  for (; x + kSomePixels <= span.pixels; x += kSomePixels)
    depthwiseChannels<Element, kSomePixels, 1>(span, x);
  for (; x < span.pixels; ++x)
    depthwiseChannels<Element, 1, kVectors>(span, x);
}

} // namespace
} // namespace cupel::kernels
