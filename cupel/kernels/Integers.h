// Products and convolutions of integers with 32-bit sums, as quantized models have them. Elements are
// of up to 32 bits and lie anywhere; inside they are pairs of 16-bit halves, which processors multiply
// two (AVX512_VNNI: in one instruction) at a time, and whatever does not fit into 16 bits takes a
// second and third product for its upper half. Sums wrap around, so they are exact modulo 2^32: the
// same bits on every instruction set and number of threads. Used by the runtime of device programs.

#pragma once

#include "cupel/kernels/Convolution.h"

#include <span>

namespace cupel::kernels {

enum class IntegerType { I8, U8, I16, U16, I32 };

/// Element (i, j) is data[rows[i] + columns[j]], which count elements.
struct IntegerMatrix {
  const void *data;
  IntegerType type;
  std::span<const int64_t> rows, columns;
};

/// A right side, or weights, as kernels read them. Immutable once packed and shared by copies.
class PackedIntegers {
public:
  int64_t rows() const { return low.rows(); }
  int64_t columns() const { return low.columns(); }
  /// Whether some elements have upper halves.
  bool isWide() const { return hasHigh; }

private:
  friend class IntegerAccess;
  PackedMatrix low, high;
  bool hasHigh = false;
};

PackedIntegers packIntegers(const IntegerMatrix &b, const Pool &pool);

/// C = A * B; C is row-major and overlaps neither.
void multiply(const IntegerMatrix &a, const PackedIntegers &b, int32_t *c, int64_t ldc,
              const Pool &pool);

/// Images (batch, depth, height, width, channel) or weights (depth, height, width, input channel of a
/// group, output channel) as they lie; negative strides turn a kernel around.
struct IntegerTensor {
  const void *data;
  IntegerType type;
  std::array<int64_t, 5> strides;
};

class PackedIntegerConvolution {
public:
  const ConvolutionShape &shape() const { return of; }

private:
  friend class IntegerAccess;
  ConvolutionShape of;         // In channels.
  PackedConvolution low, high; // In pairs of channels.
  bool hasHigh = false;
  std::shared_ptr<int32_t[]> channels; // [tap][channel], where channels are convolved each by itself.
};

PackedIntegerConvolution packIntegers(const ConvolutionShape &shape, const IntegerTensor &weights,
                                      const Pool &pool);

/// The result is dense, channels innermost.
void convolve(const PackedIntegerConvolution &weights, const IntegerTensor &image, int32_t *c,
              const Pool &pool);

} // namespace cupel::kernels
