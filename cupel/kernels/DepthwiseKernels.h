// Convolutions of each channel by itself: vectors of channels, with a few pixels of a line side by
// side so that what they share of the input is loaded once. Included by the files compiled for one
// instruction set. An element's terms are added in the order of taps, whichever function does it.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

/// A vector of channels for `pixels` pixels side by side.
template <int lines, int columns, int stride, int pixels>
inline void depthwiseTile(const Vector (&weights)[lines][columns], const float *const *line,
                          int64_t channel, int64_t step, const float *bias, float *c,
                          int64_t ldc) {
  constexpr int kInputs = (pixels - 1) * stride + columns;
  Vector sums[pixels] = {};
#pragma unroll
  for (int i = 0; i < lines; ++i) {
    Vector input[kInputs];
#pragma unroll
    for (int x = 0; x < kInputs; ++x)
      input[x] = load(line[i] + channel + x * step);
#pragma unroll
    for (int k = 0; k < columns; ++k)
#pragma unroll
      for (int p = 0; p < pixels; ++p)
        sums[p] += input[p * stride + k] * weights[i][k];
  }
#pragma unroll
  for (int p = 0; p < pixels; ++p)
    store(c + p * ldc + channel, finished(sums[p], bias ? bias + channel : nullptr));
}

/// A kernel of a fixed size: its weights for a vector of channels stay in registers along the line.
template <int lines, int columns, int stride> void depthwiseSpan(const DepthwiseSpan &given) {
  constexpr int kPixels = 4;
  const DepthwiseSpan span = given;
  auto compute = [&](int64_t channel) {
    Vector weights[lines][columns];
    const float *line[lines];
#pragma unroll
    for (int i = 0; i < lines; ++i) {
      line[i] = span.line[i];
#pragma unroll
      for (int k = 0; k < columns; ++k)
        weights[i][k] = load(span.weights[i] + k * span.pitch + channel);
    }
    float *c = span.c;
    int64_t x = 0;
    for (; x + kPixels <= span.pixels; x += kPixels, c += kPixels * span.ldc) {
      depthwiseTile<lines, columns, stride, kPixels>(weights, line, channel, span.step, span.bias,
                                                     c, span.ldc);
#pragma unroll
      for (int i = 0; i < lines; ++i)
        line[i] += kPixels * span.stride;
    }
    for (; x < span.pixels; ++x, c += span.ldc) {
      depthwiseTile<lines, columns, stride, 1>(weights, line, channel, span.step, span.bias, c,
                                               span.ldc);
#pragma unroll
      for (int i = 0; i < lines; ++i)
        line[i] += span.stride;
    }
  };
  int64_t channel = 0;
  for (; channel + kWidth <= span.channels; channel += kWidth)
    compute(channel);
  // The last ones again, with some before them: nothing is accumulated in the result.
  if (channel < span.channels)
    compute(span.channels - kWidth);
}

/// Pixels side by side, each a step from the one before, of kernels with so many columns and any number of
/// lines: what they share of a line is loaded once.
template <int columns, int pixels>
inline void depthwiseColumns(const DepthwiseSpan &span, int64_t x, int64_t channel) {
  constexpr int kInputs = pixels - 1 + columns;
  Vector sums[pixels] = {};
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
        sums[p] += input[p + k] * weight;
    }
  }
#pragma unroll
  for (int p = 0; p < pixels; ++p)
    store(span.c + (x + p) * span.ldc + channel,
          finished(sums[p], span.bias ? span.bias + channel : nullptr));
}

/// Some pixels side by side, some vectors of channels side by side: sums that do not wait for each other.
template <int pixels, int vectors>
inline void depthwiseBlock(const DepthwiseSpan &span, int64_t x, int64_t channel) {
  Vector sums[vectors][pixels] = {};
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
          sums[v][p] += load(input + p * stride + v * kWidth) * weight;
      }
  }
#pragma unroll
  for (int v = 0; v < vectors; ++v)
#pragma unroll
    for (int p = 0; p < pixels; ++p) {
      int64_t first = channel + v * kWidth;
      store(span.c + (x + p) * span.ldc + first,
            finished(sums[v][p], span.bias ? span.bias + first : nullptr));
    }
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
}

} // namespace
} // namespace cupel::kernels
