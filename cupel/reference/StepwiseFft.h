// Fourier transforms that follow the program's own types step by step, for programs whose expected
// values carry the rounding of such a transform: lengths are split into factors of 8, 4, 2 and odd
// primes, and every operation is rounded to T. Used by Fft.cpp in native mode.

#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace cupel::reference {

/// Transforms of complex lines of one length; may be shared between threads.
template <typename T> class StepwiseFft {
public:
  explicit StepwiseFft(int64_t length);
  /// Whether no factor of a length is too large for this.
  static bool canDo(int64_t length);

  /// In place; `scratch` has as many elements. Numbers are multiplied by `factor` at the end.
  void run(std::complex<T> *data, std::complex<T> *scratch, bool forward, T factor) const;

private:
  struct Pass {
    int64_t radix, before, inner;       // `before` is the product of earlier radices
    std::vector<std::complex<T>> turns; // [radix - 1][inner - 1]
    std::vector<std::complex<T>> roots; // of the radix
  };
  int64_t length;
  std::vector<Pass> passes;
};

/// Transforms between a real line and the first half of its spectrum.
template <typename T> class StepwiseRealFft {
public:
  explicit StepwiseRealFft(int64_t length);

  /// `length` numbers to length / 2 + 1.
  void forward(const T *in, std::complex<T> *out) const;
  void backward(const std::complex<T> *in, T *out, T factor) const;

private:
  struct Pass {
    int64_t radix, before, inner;
    std::vector<std::complex<T>> turns, roots;
  };
  void forwardPass(const Pass &pass, const T *in, T *out) const;
  void backwardPass(const Pass &pass, const T *in, T *out) const;

  int64_t length;
  std::vector<Pass> passes;
};

} // namespace cupel::reference
