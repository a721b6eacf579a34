// Convolutions in groups of a few channels: a vector holds whole groups, and an input channel of each
// group (in bf16: two neighbouring ones) is spread over the lanes of its group. Included by the files compiled for one instruction set.
// No channel meets another group's weights, not even zeros: infinity stays where it is.

#pragma once

#include "cupel/kernels/TileKernel.h"

#include <utility>

namespace cupel::kernels {
namespace {

/// Pixels of f32: of groups of so many channels, which take as many steps for each tap.
template <int group> struct GroupsOfFloats {
  using Step = FloatStep;
  using Input = Vector;
  static constexpr int kSteps = group;

  static Input read(const float *from) { return load(from); }
  static Input readPart(const float *from, int64_t count) { return loadPart(from, count); }

  template <int step, int... lane> static Vector spread(Input input, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(input, input, (lane / group * group + step)...);
  }
};

#if defined(__AVX512BF16__)
/// ... and of bf16, which take half as many.
template <int group> struct GroupsOfPairs {
  using Step = PairStep;
  using Input = HalfVector;
  static constexpr int kSteps = group / 2;

  static Input read(const float *from) {
    Input input;
    __builtin_memcpy(&input, from, sizeof input);
    return input;
  }
  static Input readPart(const float *from, int64_t count) { return loadHalfPart(from, count / 2); }

  template <int step, int... lane> static Vector spread(Input input, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(input, input, (lane / group * kSteps + step)...);
  }
};
#endif

/// For each step of a tap in turn.
template <typename Groups, int pixels, int... step>
[[gnu::always_inline]] inline void addSteps(Vector (&sums)[pixels][1], const typename Groups::Input (&input)[pixels], const float *weights,
                                            std::integer_sequence<int, step...>) {
  auto add = [&]<int which>(std::integral_constant<int, which>) __attribute__((always_inline)) {
    const Vector weight = load(weights + which * kWidth);
#pragma unroll
    for (int p = 0; p < pixels; ++p)
      sums[p][0] = Groups::Step::multiplyAdd(sums[p][0], Groups::template spread<which>(input[p], std::make_integer_sequence<int, kWidth>{}), weight);
  };
  (add(std::integral_constant<int, step>{}), ...);
}

/// Some pixels; of a vector that holds a single group, numbers are read from memory one by one. `isPart`: there are not as many channels as a
/// vector has.
template <typename Groups, int pixels, bool isPart> inline void computeGroups(const GroupedPixels &work, const Finish *finish, int64_t first) {
  constexpr int kGroup = Groups::kSteps * kWidth * int{sizeof(float)} / int{sizeof(typename Groups::Input)};
  Vector sums[pixels][1] = {};
  const float *weights = work.weights;
  for (int64_t tap = 0; tap < work.taps; ++tap, weights += Groups::kSteps * kWidth) {
    const float *const *rows = work.rows + tap * work.rowsPerTap + first;
    if constexpr (kGroup == kWidth) {
#pragma unroll
      for (int step = 0; step < Groups::kSteps; ++step) {
        const Vector weight = load(weights + step * kWidth);
#pragma unroll
        for (int p = 0; p < pixels; ++p) {
          const float *from = rows[p] + work.offset + step;
          if constexpr (Groups::Step::kReadsLeft)
            Groups::Step::multiplyAddFrom(sums[p][0], from, weight);
          else
            sums[p][0] = Groups::Step::multiplyAdd(sums[p][0], splatFrom(from), weight);
        }
      }
      continue;
    }
    typename Groups::Input input[pixels];
#pragma unroll
    for (int p = 0; p < pixels; ++p)
      input[p] = isPart ? Groups::readPart(rows[p] + work.offset, work.channels) : Groups::read(rows[p] + work.offset);
    addSteps<Groups>(sums, input, weights, std::make_integer_sequence<int, Groups::kSteps>{});
  }
  if (work.bias) {
    const Vector bias = isPart ? loadPart(work.bias, work.channels) : load(work.bias);
#pragma unroll
    for (int p = 0; p < pixels; ++p)
      sums[p][0] += bias;
  }
  putSums(sums, finish, work.row + first, work.column, isPart ? work.channels : kWidth, work.c + first * work.ldc, work.ldc);
}

template <typename Groups, bool isPart> void convolveAllGroups(const GroupedPixels &given) {
  constexpr int kPixels = kWidth == 16 ? 10 : 6, kFew = 3;
  const GroupedPixels work = given; // Copies that stores cannot change.
  const Finish copy = work.finish ? *work.finish : Finish();
  const Finish *finish = work.finish ? &copy : nullptr;
  int64_t first = 0;
  // The last ones again, with some before them: nothing is accumulated in the result.
  auto some = [&](auto count) __attribute__((always_inline)) {
    for (; first < work.pixels && work.pixels >= count; first += count)
      computeGroups<Groups, count, isPart>(work, finish, first + count <= work.pixels ? first : work.pixels - count);
  };
  some(std::integral_constant<int, kPixels>{});
  some(std::integral_constant<int, kFew>{});
  some(std::integral_constant<int, 1>{});
}

template <typename Groups> void convolveGroups(const GroupedPixels &work) {
  if (work.channels < kWidth)
    return convolveAllGroups<Groups, true>(work);
  convolveAllGroups<Groups, false>(work);
}

constexpr void addGrouped(KernelTable &table) {
  table.grouped[0][1] = convolveGroups<GroupsOfFloats<2>>;
  table.grouped[0][2] = convolveGroups<GroupsOfFloats<4>>;
  if constexpr (kWidth >= 8)
    table.grouped[0][3] = convolveGroups<GroupsOfFloats<8>>;
  if constexpr (kWidth >= 16)
    table.grouped[0][4] = convolveGroups<GroupsOfFloats<16>>;
#if defined(__AVX512BF16__)
  table.grouped[1][1] = convolveGroups<GroupsOfPairs<2>>;
  table.grouped[1][2] = convolveGroups<GroupsOfPairs<4>>;
  table.grouped[1][3] = convolveGroups<GroupsOfPairs<8>>;
  table.grouped[1][4] = convolveGroups<GroupsOfPairs<16>>;
#endif
}

} // namespace
} // namespace cupel::kernels
