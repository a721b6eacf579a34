// The passes over a result, what is expected and its jittered siblings that Noise.cpp judges by:
// root mean squares, then which elements are beyond their limits. The same numbers for any number of
// threads.

#pragma once

#include "cupel/compare/Elements.h"
#include "cupel/compare/Noise.h"

#include <span>
#include <vector>

namespace cupel::compare {

/// What is compared: all have the same number of parts.
struct NoiseReaders {
  const ElementReader &actual, &expected;
  const ElementReader &center; ///< What samples lie around: mostly `expected`.
  std::span<const ElementReader> samples;
};

/// Root mean squares over the elements that are finite on all sides.
struct NoiseSizes {
  double expected = 0, error = 0;
  double noise = 0; ///< Of the noisier of two samples; of more, of all of them.
  double meanShare = 0; ///< The mean of what is expected as a share of its root mean square.
};

struct ElementLimits {
  double factor = 0;     ///< Of an element's noise.
  double noise = 0;      ///< That every element has at least, absolute
  double noiseShare = 0; ///< and as a share of its size (where there are no samples).
  double least = 0;      ///< Always allowed, as a share of an element's size
  double smallest = 0;   ///< and absolute.
  double size = 0;       ///< Of a typical element: smaller ones count as if they were of it.
};

/// Elements (parts of complex numbers count by themselves) beyond their limits.
struct ElementsBeyond {
  int64_t count = 0;
  int64_t position = -1; ///< Of the worst part,
  double ratio = 0;      ///< and how far it is off: 1 is the limit.
  /// The smallest box around all of them, by dimension.
  std::vector<int64_t> low, high;
};

NoiseSizes measureNoise(const NoiseReaders &readers, int threads);

/// What elements of this type may be off by. Where nothing moved, the noise of `sizes` becomes what
/// the precision says.
ElementLimits limitsFor(tensor::DType type, const Noise &noise, const NoiseFactors &factors,
                        NoiseSizes &sizes);

ElementsBeyond findBeyond(const NoiseReaders &readers, const ElementLimits &limits, int threads);

/// Sets the mark of every element of which a part is beyond its limits.
void markBeyond(const NoiseReaders &readers, const ElementLimits &limits, std::vector<bool> &marks);

} // namespace cupel::compare
