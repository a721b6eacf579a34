// Discrete Fourier transforms of many lines: complex, and of reals by half as many complex numbers.
// Used by the compiled device. Lines are transformed side by side, one in each lane of a vector, or
// by themselves as matrices whose columns lie side by side; a line's result depends on that line
// alone. Lengths are products of 2, 3, 5 and 7; others are for the caller to refuse.

#pragma once

#include "cupel/kernels/Pool.h"

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace cupel::kernels {

/// Whether there is a transform of this length.
bool hasFft(int64_t length);
/// Whether few lines of this length, or one, fill vectors as well as many.
bool hasFftOfOneLine(int64_t length);

/// Lines of `length` numbers, `stride` elements apart along the line; line (i, j) begins at
/// i * outerStep + j * innerStep for i < outer, j < inner.
struct FftLines {
  int64_t outer = 1, inner = 1;
  int64_t outerStep = 0, innerStep = 0, stride = 1;
};

template <typename T> class Fft {
public:
  explicit Fft(int64_t length);
  ~Fft();
  Fft(const Fft &) = delete;
  Fft &operator=(const Fft &) = delete;

  /// to = transform(from); backwards with the conjugate roots, every result times `scale`. In place
  /// where both lie alike.
  void transform(const std::complex<T> *from, const FftLines &fromLines, std::complex<T> *to,
                 const FftLines &toLines, bool backwards, T scale, const Pool &pool) const;
  /// Of reals: the first length / 2 + 1 results.
  void transformReals(const T *from, const FftLines &fromLines, std::complex<T> *to,
                      const FftLines &toLines, const Pool &pool) const;
  /// The reals whose transform begins with these length / 2 + 1 numbers, times `scale`. Imaginary
  /// parts of the first and (of an even length) the last are taken for zero.
  void transformToReals(const std::complex<T> *from, const FftLines &fromLines, T *to,
                        const FftLines &toLines, T scale, const Pool &pool) const;

private:
  struct Stages;
  int64_t length;
  std::unique_ptr<const Stages> whole, half; // `half` for reals of an even length.
  std::vector<T> cosines, sines;             // Of the length's roots, for reals.
};

extern template class Fft<float>;
extern template class Fft<double>;

} // namespace cupel::kernels
