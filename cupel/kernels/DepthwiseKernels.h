// Convolutions of each channel by itself: vectors of channels, with a few pixels of a line side by
// side so that what they share of the input is loaded once. Included by the files compiled for one
// instruction set. An element's terms are added in the order of taps, whichever function does it.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

/// `pixels` pixels side by side; the kernel is `columns` wide, the stride along the line `stride`.
template <int columns, int stride, int pixels> void depthwiseSpan(const DepthwiseSpan &span) {
  constexpr int kInputs = (pixels - 1) * stride + columns;
  auto compute = [&](int64_t channel) {
    Vector sums[pixels] = {};
    for (int64_t i = 0; i < span.lines; ++i) {
      const float *line = span.line[i] + channel, *weights = span.weights[i] + channel;
      Vector input[kInputs];
#pragma unroll
      for (int x = 0; x < kInputs; ++x)
        input[x] = load(line + x * span.channels);
#pragma unroll
      for (int k = 0; k < columns; ++k) {
        Vector weight = load(weights + k * span.channels);
#pragma unroll
        for (int p = 0; p < pixels; ++p)
          sums[p] += input[p * stride + k] * weight;
      }
    }
    Vector bias = span.bias ? load(span.bias + channel) : Vector{};
#pragma unroll
    for (int p = 0; p < pixels; ++p)
      store(span.c + p * span.ldc + channel, span.bias ? sums[p] + bias : sums[p]);
  };
  int64_t channel = 0;
  for (; channel + kWidth <= span.channels; channel += kWidth)
    compute(channel);
  // The last ones again, with some before them: nothing is accumulated in the result.
  if (channel < span.channels)
    compute(span.channels - kWidth);
}

/// One pixel with any taps.
void depthwisePixel(const DepthwisePixel &pixel) {
  int64_t channel = 0;
  for (; channel + kWidth <= pixel.channels; channel += kWidth) {
    Vector sum = {};
    for (int64_t i = 0; i < pixel.taps; ++i)
      sum += load(pixel.input[i] + channel) * load(pixel.weights[i] + channel);
    if (pixel.bias)
      sum += load(pixel.bias + channel);
    store(pixel.c + channel, sum);
  }
  for (; channel < pixel.channels; ++channel) {
    float sum = 0;
    for (int64_t i = 0; i < pixel.taps; ++i)
      sum += pixel.input[i][channel] * pixel.weights[i][channel];
    pixel.c[channel] = pixel.bias ? sum + pixel.bias[channel] : sum;
  }
}

} // namespace
} // namespace cupel::kernels
