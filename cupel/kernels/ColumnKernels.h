// Sums of what neighbouring pixels have for each other, where the columns of a convolution's kernel were multiplied side by side
// (ConvolveColumns.cpp). Included by the files compiled for one instruction set.

#pragma once

#include "cupel/kernels/KernelTable.h"
#include "cupel/kernels/Simd.h"

#include <algorithm>

namespace cupel::kernels {
namespace {

void addColumnParts(const ColumnParts &parts, int64_t pixels, float *c, int64_t ldc) {
  for (int64_t first = 0; first < parts.results; first += kWidth) {
    const int64_t count = std::min<int64_t>(kWidth, parts.results - first);
    const Vector bias = parts.bias ? loadPart(parts.bias + first, count) : Vector{};
    auto add = [&](auto get, auto put) __attribute__((always_inline)) {
      for (int64_t x = 0; x < pixels; ++x) {
        const float *part = parts.first + x * parts.stride + first;
        Vector sum = get(part);
        for (int64_t column = 1; column < parts.columns; ++column) {
          part += parts.step;
          sum += get(part);
        }
        put(c + x * ldc + first, parts.bias ? sum + bias : sum);
      }
    };
    if (count == kWidth)
      add([](const float *from) { return load(from); }, [](float *to, Vector sum) { store(to, sum); });
    else
      add([&](const float *from) { return loadPart(from, count); }, [&](float *to, Vector sum) { storePart(to, sum, count); });
  }
}

} // namespace
} // namespace cupel::kernels
