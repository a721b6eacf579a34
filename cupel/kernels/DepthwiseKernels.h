// Convolutions of each channel by itself: vectors of channels, with a few pixels of a line side by
// side so that what they share of the input is loaded once. Included by the files compiled for one
// instruction set. An element's terms are added in the order of taps, whichever function does it.

#pragma once

#include "cupel/kernels/FinishKernels.h"
#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

/// A vector of channels of an image in f32, or in bf16.
inline Vector loadChannels(const float *from) { return load(from); }
inline Vector loadChannels(const uint16_t *from) {
  using Halves = uint16_t __attribute__((ext_vector_type(kWidth)));
  using Bits = uint32_t __attribute__((ext_vector_type(kWidth)));
  Halves halves;
  __builtin_memcpy(&halves, from, sizeof halves);
  return __builtin_bit_cast(Vector, __builtin_convertvector(halves, Bits) << 16);
}

inline float channelOf(const float *from) { return *from; }
inline float channelOf(const uint16_t *from) { return __builtin_bit_cast(float, uint32_t{*from} << 16); }

template <typename Element> const Element *lineOf(const DepthwiseSpan &span, int64_t i) { return static_cast<const Element *>(span.line[i]); }

/// What pixels side by side have become, with all that is done to it.
template <int pixels, int vectors>
[[gnu::always_inline]] inline void storeSums(Vector (&sums)[pixels][vectors], const DepthwiseSpan &span, int64_t x, int64_t channel) {
#pragma unroll
  for (int v = 0; v < vectors; ++v)
    if (span.bias) {
      Vector bias = load(span.bias + channel + v * kWidth);
#pragma unroll
      for (int p = 0; p < pixels; ++p)
        sums[p][v] = sums[p][v] + bias;
    }
  putSums(sums, span.finish, span.row + x, span.column + channel, kWidth, span.c + x * span.ldc + channel, span.ldc);
}

/// The weights of a kernel of a fixed size, for a vector of channels.
template <int lines, int columns> struct DepthwiseWeights {
  Vector of[lines][columns];

  [[gnu::always_inline]] DepthwiseWeights(const DepthwiseSpan &span, int64_t channel) {
#pragma unroll
    for (int i = 0; i < lines; ++i)
#pragma unroll
      for (int k = 0; k < columns; ++k)
        of[i][k] = load(span.weights[i] + k * span.pitch + channel);
  }
};

/// A vector of channels of `pixels` pixels side by side, from pixel x of these lines on.
template <int lines, int columns, int stride, int pixels, typename Element>
[[gnu::always_inline]] inline void depthwiseTile(const DepthwiseWeights<lines, columns> &weights, const Element *const (&line)[lines],
                                                 const DepthwiseSpan &span, int64_t x, int64_t channel) {
  constexpr int kInputs = (pixels - 1) * stride + columns;
  Vector sums[pixels][1] = {};
#pragma unroll
  for (int i = 0; i < lines; ++i) {
    const Element *from = line[i] + x * span.stride + channel;
    Vector input[kInputs];
#pragma unroll
    for (int n = 0; n < kInputs; ++n)
      input[n] = loadChannels(from + n * span.step);
#pragma unroll
    for (int k = 0; k < columns; ++k)
#pragma unroll
      for (int p = 0; p < pixels; ++p)
        sums[p][0] += input[p * stride + k] * weights.of[i][k];
  }
  storeSums(sums, span, x, channel);
}

/// Calls `compute` with each vector of channels.
template <typename F> [[gnu::always_inline]] inline void forVectors(int64_t channels, F &&compute) {
  int64_t channel = 0;
  for (; channel + kWidth <= channels; channel += kWidth)
    compute(channel);
  // The last ones again, with some before them: nothing is accumulated in the result.
  if (channel < channels)
    compute(channels - kWidth);
}

/// A kernel of a fixed size.
template <typename Element, int lines, int columns, int stride> void depthwiseSpan(const DepthwiseSpan &given) {
  constexpr int kPixels = 4;
  const DepthwiseSpan span = given;
  using Weights = DepthwiseWeights<lines, columns>;
  const Element *line[lines];
#pragma unroll
  for (int i = 0; i < lines; ++i)
    line[i] = lineOf<Element>(span, i);
  // With all their channels, as memory has them: a vector of channels along a long line would touch a part of every pixel, which no
  // prefetcher follows.
  int64_t x = 0;
  if (span.pixels > kMostShortPixels)
    for (; x + kPixels <= span.pixels; x += kPixels)
      forVectors(span.channels, [&](int64_t channel) __attribute__((always_inline)) {
        depthwiseTile<lines, columns, stride, kPixels, Element>(Weights(span, channel), line, span, x, channel);
      });
  forVectors(span.channels, [&](int64_t channel) __attribute__((always_inline)) {
    const Weights weights(span, channel);
    int64_t at = x;
    for (; at + kPixels <= span.pixels; at += kPixels)
      depthwiseTile<lines, columns, stride, kPixels, Element>(weights, line, span, at, channel);
    for (; at < span.pixels; ++at)
      depthwiseTile<lines, columns, stride, 1, Element>(weights, line, span, at, channel);
  });
}

/// Pixels side by side, each a step from the one before, of kernels with so many columns and any number of
/// lines: what they share of a line is loaded once.
template <typename Element, int columns, int pixels>
inline void depthwiseColumns(const DepthwiseSpan &span, int64_t x, int64_t channel) {
  constexpr int kInputs = pixels - 1 + columns;
  Vector sums[pixels][1] = {};
  const int64_t step = span.step, pitch = span.pitch;
  for (int64_t i = 0; i < span.lines; ++i) {
    const Element *from = lineOf<Element>(span, i) + x * span.stride + channel;
    const float *weights = span.weights[i] + channel;
    Vector input[kInputs];
#pragma unroll
    for (int n = 0; n < kInputs; ++n)
      input[n] = loadChannels(from + n * step);
#pragma unroll
    for (int k = 0; k < columns; ++k) {
      Vector weight = load(weights + k * pitch);
#pragma unroll
      for (int p = 0; p < pixels; ++p)
        sums[p][0] += input[p + k] * weight;
    }
  }
  storeSums(sums, span, x, channel);
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

/// All channels that fill vectors, of some pixels; the first channel that is left.
template <typename Element, int pixels, int vectors>
inline int64_t depthwiseChannels(const DepthwiseSpan &span, int64_t x) {
  int64_t channel = 0;
  for (; channel + vectors * kWidth <= span.channels; channel += vectors * kWidth)
    depthwiseBlock<Element, pixels, vectors>(span, x, channel);
  for (; channel + kWidth <= span.channels; channel += kWidth)
    depthwiseBlock<Element, pixels, 1>(span, x, channel);
  return channel;
}

/// The same where pixels share what they read.
template <typename Element, int columns, int pixels>
inline int64_t depthwiseSide(const DepthwiseSpan &span, int64_t x) {
  int64_t channel = 0;
  for (; channel + kWidth <= span.channels; channel += kWidth)
    depthwiseColumns<Element, columns, pixels>(span, x, channel);
  return channel;
}

/// Any kernel and any number of channels.
template <typename Element> void depthwiseAny(const DepthwiseSpan &given) {
  constexpr int kMostPixels = 8, kSomePixels = 4, kVectors = 4;
  const DepthwiseSpan span = given;
  int64_t x = 0, left = 0;
  bool isDense = span.step == span.stride;
  for (; x + kMostPixels <= span.pixels; x += kMostPixels)
    if (isDense && span.columns == 5)
      left = depthwiseSide<Element, 5, kMostPixels>(span, x);
    else if (isDense && span.columns == 7)
      left = depthwiseSide<Element, 7, kMostPixels>(span, x);
    else
      left = depthwiseChannels<Element, kMostPixels, 1>(span, x);
  for (; x + kSomePixels <= span.pixels; x += kSomePixels)
    left = depthwiseChannels<Element, kSomePixels, 1>(span, x);
  for (; x < span.pixels; ++x)
    left = depthwiseChannels<Element, 1, kVectors>(span, x);
  for (x = 0; x < span.pixels && left < span.channels; ++x)
    for (int64_t channel = left; channel < span.channels; ++channel) {
      float sum = 0;
      for (int64_t i = 0; i < span.lines; ++i)
        for (int64_t k = 0; k < span.columns; ++k)
          sum += channelOf(lineOf<Element>(span, i) + x * span.stride + k * span.step + channel) *
                 span.weights[i][k * span.pitch + channel];
      span.c[x * span.ldc + channel] = span.bias ? sum + span.bias[channel] : sum;
    }
  if (span.finish && left < span.channels)
    finishBlock(*span.finish, span.c + left, span.ldc, span.row, span.pixels, span.column + left, span.channels - left);
}

} // namespace
} // namespace cupel::kernels
