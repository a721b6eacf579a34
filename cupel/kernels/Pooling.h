// Windows over tensors whose channels lie innermost (NDHWC), or outermost (NCDHW): the greatest, the least or the sum of
// what a window covers; an average is a sum with an epilogue. Used by the runtime of device programs.
// NaN stays NaN and -0 is less than +0, as StableHLO's maximum and minimum have it. Results do not
// depend on the number of threads, nothing is allocated for a call beyond the scratch of threads.

#pragma once

#include "cupel/kernels/Convolution.h"

namespace cupel::kernels {

enum class PoolingKind { Max, Min, Sum };

struct PoolingShape {
  int64_t batch = 1, channels = 1;
  Spatial input = {1, 1, 1};
  Spatial window = {1, 1, 1};
  Spatial strides = {1, 1, 1};
  Spatial paddingLow = {}, paddingHigh = {}; // May be negative.
  Spatial windowDilation = {1, 1, 1};

  Spatial output() const;
  int64_t rows() const;
};

/// The initial value is also that of padding. A sum begins with zero: others are the caller's.
/// `input` is dense, the result has `ldc` elements between pixels.
void computeWindows(const PoolingShape &shape, PoolingKind kind, float initial, const float *input,
                    float *c, int64_t ldc, const Epilogue &epilogue, const Pool &pool);

/// The greatest of bytes; where a window covers nothing but padding, the least there is. Input and result are dense.
void computeByteWindows(const PoolingShape &shape, bool isSigned, const uint8_t *input, uint8_t *c, const Pool &pool);

/// The same of numbers in bf16; where a window covers nothing, minus infinity.
void computeHalfWindows(const PoolingShape &shape, const uint16_t *input, uint16_t *c, const Pool &pool);

/// The same where columns lie innermost and channels are more images; padding is not negative. Both are dense.
void computePlanarWindows(const PoolingShape &shape, PoolingKind kind, float initial, const float *input, float *c, const Pool &pool);

} // namespace cupel::kernels
