// The steps of Fourier transforms that are compiled for each instruction set (FftBaseline.cpp,
// FftV3.cpp, FftV4.cpp from FftSteps.h) and the tables they work on. Used by Fft.cpp alone. Only
// pointers and numbers: what these files inline must never be code that others could be given.

#pragma once

#include <cstdint>

namespace cupel::kernels {

/// Butterflies of one factor: x[q + s (j + m k)] to y[q + s (p j + r)].
template <typename T> struct FftStage {
  int factor;
  int64_t groups, together; // m and s: lengths that are left, and that were done before.
  const T *twiddles;        // For each group and each result but the first: re, im.
  const T *small;           // Roots of the factor: re, im.
};

template <typename T> struct FftStages {
  const FftStage<T> *stages;
  int count;
  int64_t length;
};

/// Complex numbers in pairs, or where `im` is given real and imaginary parts by themselves.
template <typename T> struct FftNumbers {
  T *re, *im = nullptr;
};

/// A line as a matrix of `columns.length` x `rows.length` numbers: columns are transformed side by
/// side, turned by `twiddles` and transposed into `between`; then rows are, which stores results in
/// order.
template <typename T> struct FftLine {
  FftStages<T> columns, rows;
  const T *twiddles; // For each block of columns and each result: re and im of the lanes.
};

template <typename T> struct FftTable {
  int lanes; // Of a vector: what is transformed side by side.

  /// Transforms what lies in `memory`: real parts of all lanes, imaginary ones, and room for as much
  /// again. Returns where the result is.
  T *(*sideBySide)(const FftStages<T> &stages, T *memory);
  /// Blocks [begin, end) of columns, a block being as many as there are lanes; imaginary parts times
  /// `sign`. `memory` is room for four blocks.
  void (*columns)(const FftLine<T> &line, FftNumbers<T> from, T sign, FftNumbers<T> between,
                  int64_t begin, int64_t end, T *memory);
  void (*rows)(const FftLine<T> &line, FftNumbers<T> between, FftNumbers<T> to, T scale, T sign,
               int64_t begin, int64_t end, T *memory);
  /// The transform of 2 n reals from that of their n pairs; `cosines` and `sines` of the 2 n roots.
  void (*joinReals)(FftNumbers<T> pairs, int64_t n, const T *cosines, const T *sines, T *to);
  /// And back: what has to be transformed backwards for pairs.
  void (*splitReals)(const T *from, int64_t n, const T *cosines, const T *sines,
                     FftNumbers<T> pairs);
};

// One for each instruction set, defined in the file compiled for it.
template <typename T> const FftTable<T> &fftBaseline();
template <typename T> const FftTable<T> &fftV3();
template <typename T> const FftTable<T> &fftV4();

} // namespace cupel::kernels
