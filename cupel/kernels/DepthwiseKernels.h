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

/// Any kernel and any number of channels.
void depthwiseAny(const DepthwiseSpan &span) {
  for (int64_t x = 0; x < span.pixels; ++x) {
    float *c = span.c + x * span.ldc;
    int64_t channel = 0, place = x * span.stride;
    for (; channel + kWidth <= span.channels; channel += kWidth) {
      Vector sum = {};
      for (int64_t i = 0; i < span.lines; ++i)
        for (int64_t k = 0; k < span.columns; ++k)
          sum += load(span.line[i] + place + k * span.step + channel) *
                 load(span.weights[i] + k * span.pitch + channel);
      store(c + channel, finished(sum, span.bias ? span.bias + channel : nullptr));
    }
    for (; channel < span.channels; ++channel) {
      float sum = 0;
      for (int64_t i = 0; i < span.lines; ++i)
        for (int64_t k = 0; k < span.columns; ++k)
          sum += span.line[i][place + k * span.step + channel] *
                 span.weights[i][k * span.pitch + channel];
      c[channel] = span.bias ? sum + span.bias[channel] : sum;
    }
  }
}

} // namespace
} // namespace cupel::kernels
