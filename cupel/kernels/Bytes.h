// Products and convolutions of bytes with 32-bit sums and an epilogue, as quantized models have them: each side with or
// without sign and less its zero point. Four bytes are multiplied at a time (AMX_INT8, AVX512_VNNI, AVX_VNNI), as pairs of
// 16 bits where there is no instruction that is exact for all of them. Inside, the left side has no sign (but in matrix
// registers) and the right one has: whatever is otherwise is moved by 128, and what that and zero points add is taken off by a number for each column and, where
// the right side has a zero point of its own, one for each row. Sums wrap around: the same bits on every instruction
// set and number of threads. Used by the runtime of device programs.

#pragma once

#include "cupel/kernels/Integers.h"
#include "cupel/kernels/Panels.h"

namespace cupel::kernels {

/// What is zero, of the type of each side.
struct ByteZeros {
  int32_t left = 0, right = 0;
};

/// A right side, or weights, for a left side of one type and zero point. Immutable once packed and shared by copies.
class PackedBytes {
public:
  int64_t rows() const { return depth; }
  int64_t columns() const { return matrix.columns(); }

private:
  friend class ByteAccess;
  int64_t depth = 0;
  PackedMatrix matrix; // Of floats that are four bytes.
  ByteSides sides;
  std::shared_ptr<int32_t[]> terms; // Of columns.
};

/// `b` is of I8 or U8, as `left` is.
PackedBytes packBytes(const IntegerMatrix &b, IntegerType left, ByteZeros zeros, const Pool &pool);

/// C = A * B, then the epilogue, whose function is given 32-bit integers and whose bias is not used. Where `c` is null
/// the function is only shown them, and keeps what it makes elsewhere.
void multiply(const IntegerMatrix &a, const PackedBytes &b, int32_t *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool);

class PackedByteConvolution {
public:
  const ConvolutionShape &shape() const { return of; }

private:
  friend class ByteAccess;
  ConvolutionShape of;       // In channels.
  ConvolutionShape carried;  // As it is carried out: the same, but where what the kernel covers of a line is one pixel's channels.
  PackedConvolution weights; // In fours of channels.
  ByteSides sides;
  std::shared_ptr<int32_t[]> terms;    // Of output channels.
  std::shared_ptr<int32_t[]> channels; // [tap][channel], where channels are convolved each by itself.
  std::shared_ptr<int32_t[]> pairs;    // The same of two taps, for vectors of `pairWidth`.
  int64_t pairWidth = 0;
};

/// Of inputs that are not dilated. What lies outside of images is zero: the zero point.
PackedByteConvolution packBytes(const ConvolutionShape &shape, const IntegerTensor &weights,
                                IntegerType image, ByteZeros zeros, const Pool &pool);

/// Rows of the result are pixels, columns output channels; `c` and the epilogue as for products.
void convolve(const PackedByteConvolution &weights, const IntegerTensor &image, int32_t *c,
              const Epilogue &epilogue, const Pool &pool);

} // namespace cupel::kernels
