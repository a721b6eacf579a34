// Convolutions of each channel by itself: vectors of channels, with a few pixels of a line side by
// side so that what they share of the input is loaded once. Included by the files compiled for one
// instruction set. An element's terms are added in the order of taps, whichever function does it.

#pragma once

#include "cupel/kernels/FinishKernels.h"
#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

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
template <int lines, int columns, int stride, int pixels>
[[gnu::always_inline]] inline void depthwiseTile(const DepthwiseWeights<lines, columns> &weights, const float *const (&line)[lines],
                                                 const DepthwiseSpan &span, int64_t x, int64_t channel) {
  constexpr int kInputs = (pixels - 1) * stride + columns;
  Vector sums[pixels][1] = {};
#pragma unroll
  for (int i = 0; i < lines; ++i) {
    const float *from = line[i] + x * span.stride + channel;
    Vector input[kInputs];
#pragma unroll
    for (int n = 0; n < kInputs; ++n)
      input[n] = load(from + n * span.step);
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
template <int lines, int columns, int stride> void depthwiseSpan(const DepthwiseSpan &given) {
  constexpr int kPixels = 4;
  const DepthwiseSpan span = given;
  using Weights = DepthwiseWeights<lines, columns>;
  const float *line[lines];
#pragma unroll
  for (int i = 0; i < lines; ++i)
    line[i] = span.line[i];
  // With all their channels, as memory has them: a vector of channels along a long line would touch a part of every pixel, which no
  // prefetcher follows.
  int64_t x = 0;
  if (span.pixels > kMostShortPixels)
    for (; x + kPixels <= span.pixels; x += kPixels)
      forVectors(span.channels, [&](int64_t channel) __attribute__((always_inline)) {
        depthwiseTile<lines, columns, stride, kPixels>(Weights(span, channel), line, span, x, channel);
      });
  forVectors(span.channels, [&](int64_t channel) __attribute__((always_inline)) {
    const Weights weights(span, channel);
    int64_t at = x;
    for (; at + kPixels <= span.pixels; at += kPixels)
      depthwiseTile<lines, columns, stride, kPixels>(weights, line, span, at, channel);
    for (; at < span.pixels; ++at)
      depthwiseTile<lines, columns, stride, 1>(weights, line, span, at, channel);
  });
}

/// Pixels side by side, each a step from the one before, of kernels with so many columns and any number of
/// lines: what they share of a line is loaded once.
template <int columns, int pixels>
inline void depthwiseColumns(const DepthwiseSpan &span, int64_t x, int64_t channel) {
  constexpr int kInputs = pixels - 1 + columns;
  Vector sums[pixels][1] = {};
  const int64_t step = span.step, pitch = span.pitch;
  for (int64_t i = 0; i < span.lines; ++i) {
    const float *from = span.line[i] + x * span.stride + channel;
    const float *weights = span.weights[i] + channel;
    Vector input[kInputs];
#pragma unroll
    for (int n = 0; n < kInputs; ++n)
      input[n] = load(from + n * step);
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
template <int pixels, int vectors>
inline void depthwiseBlock(const DepthwiseSpan &span, int64_t x, int64_t channel) {
  Vector sums[pixels][vectors] = {};
  const int64_t stride = span.stride, step = span.step, pitch = span.pitch, columns = span.columns;
  for (int64_t i = 0; i < span.lines; ++i) {
    const float *input = span.line[i] + x * stride + channel;
    const float *weights = span.weights[i] + channel;
    for (int64_t k = 0; k < columns; ++k, input += step, weights += pitch)
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        Vector weight = load(weights + v * kWidth);
#pragma unroll
        for (int p = 0; p < pixels; ++p)
          sums[p][v] += load(input + p * stride + v * kWidth) * weight;
      }
  }
  storeSums(sums, span, x, channel);
}

/// All channels that fill vectors, of some pixels; the first channel that is left.
template <int pixels, int vectors>
inline int64_t depthwiseChannels(const DepthwiseSpan &span, int64_t x) {
  int64_t channel = 0;
  for (; channel + vectors * kWidth <= span.channels; channel += vectors * kWidth)
    depthwiseBlock<pixels, vectors>(span, x, channel);
  for (; channel + kWidth <= span.channels; channel += kWidth)
    depthwiseBlock<pixels, 1>(span, x, channel);
  return channel;
}

/// The same where pixels share what they read.
template <int columns, int pixels>
inline int64_t depthwiseSide(const DepthwiseSpan &span, int64_t x) {
  int64_t channel = 0;
  for (; channel + kWidth <= span.channels; channel += kWidth)
    depthwiseColumns<columns, pixels>(span, x, channel);
  return channel;
}

/// Any kernel and any number of channels.
void depthwiseAny(const DepthwiseSpan &given) {
  constexpr int kMostPixels = 8, kSomePixels = 4, kVectors = 4;
  const DepthwiseSpan span = given;
  int64_t x = 0, left = 0;
  bool isDense = span.step == span.stride;
  for (; x + kMostPixels <= span.pixels; x += kMostPixels)
    if (isDense && span.columns == 5)
      left = depthwiseSide<5, kMostPixels>(span, x);
    else if (isDense && span.columns == 7)
      left = depthwiseSide<7, kMostPixels>(span, x);
    else
      left = depthwiseChannels<kMostPixels, 1>(span, x);
  for (; x + kSomePixels <= span.pixels; x += kSomePixels)
    left = depthwiseChannels<kSomePixels, 1>(span, x);
  for (; x < span.pixels; ++x)
    left = depthwiseChannels<1, kVectors>(span, x);
  for (x = 0; x < span.pixels && left < span.channels; ++x)
    for (int64_t channel = left; channel < span.channels; ++channel) {
      float sum = 0;
      for (int64_t i = 0; i < span.lines; ++i)
        for (int64_t k = 0; k < span.columns; ++k)
          sum += span.line[i][x * span.stride + k * span.step + channel] *
                 span.weights[i][k * span.pitch + channel];
      span.c[x * span.ldc + channel] = span.bias ? sum + span.bias[channel] : sum;
    }
  if (span.finish && left < span.channels)
    finishBlock(*span.finish, span.c + left, span.ldc, span.row, span.pixels, span.column + left, span.channels - left);
}

} // namespace
} // namespace cupel::kernels
