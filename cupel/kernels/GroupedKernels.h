// Convolutions in groups of a few channels: a vector holds whole groups, and an input channel of each
// group is spread over the lanes of its group. Included by the files compiled for one instruction set.
// No channel meets another group's weights, not even zeros: infinity stays where it is.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

#include <utility>

namespace cupel::kernels {
namespace {

template <int group, int channel, int... lane>
inline Vector spreadLanes(Vector value, std::integer_sequence<int, lane...>) {
  return __builtin_shufflevector(value, value, (lane / group * group + channel)...);
}

/// For each channel of a group in turn.
template <int group, int pixels, int... channel>
inline void addChannels(Vector (&sums)[pixels], const Vector (&input)[pixels], const float *weights,
                        std::integer_sequence<int, channel...>) {
  auto add = [&]<int which>(std::integral_constant<int, which>) {
    Vector weight = load(weights + which * kWidth);
#pragma unroll
    for (int p = 0; p < pixels; ++p)
      sums[p] += spreadLanes<group, which>(input[p], std::make_integer_sequence<int, kWidth>{}) *
                 weight;
  };
  (add(std::integral_constant<int, channel>{}), ...);
}

template <int group, int pixels>
inline void computeGroups(const GroupedPixels &work, int64_t first) {
  Vector sums[pixels] = {};
  const float *weights = work.weights;
  for (int64_t tap = 0; tap < work.taps; ++tap, weights += group * kWidth) {
    const float *const *rows = work.rows + tap * work.rowsPerTap + first;
    Vector input[pixels];
#pragma unroll
    for (int p = 0; p < pixels; ++p)
      input[p] = load(rows[p] + work.offset);
    addChannels<group>(sums, input, weights, std::make_integer_sequence<int, group>{});
  }
#pragma unroll
  for (int p = 0; p < pixels; ++p)
    store(work.c + (first + p) * work.ldc, finished(sums[p], work.bias));
}

template <int group> void convolveGroups(const GroupedPixels &work) {
  constexpr int kPixels = 6;
  int64_t first = 0;
  for (; first + kPixels <= work.pixels; first += kPixels)
    computeGroups<group, kPixels>(work, first);
  for (; first < work.pixels; ++first)
    computeGroups<group, 1>(work, first);
}

} // namespace
} // namespace cupel::kernels
