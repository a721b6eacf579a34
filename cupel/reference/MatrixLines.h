// What the matrix product asks of rows and columns before it rounds sums of their products: how
// long they are, which bounds the error of a sum, and of how many bits their elements are made,
// which tells where there is none. Used by MatrixProduct.cpp only; sees doubles that were f32 or
// less.

#pragma once

#include <cstdint>

namespace cupel::reference {

/// Up to kMost lines side by side, of which each takes in one element at a time, or one line whose
/// elements come eight at a time (`takeAlong`, then `joinLanes`).
class LineMeasures {
public:
  static constexpr int64_t kMost = 512, kLanes = 8;
  /// More than any sum of products has that is known to be exact.
  static constexpr int kNeverExact = 10'000;

  explicit LineMeasures(int64_t lines);

  /// The next element of each of the first `count` lines.
  void takeAcross(const double *elements, int64_t count);
  /// Elements of one line; `count` is a multiple of kLanes, filled up with zeros.
  void takeAlong(const double *elements, int64_t count);
  /// Makes the lanes one, the first.
  void joinLanes();

  /// The root of the sum of squares, a little too long rather than too short.
  double length(int64_t line) const;
  /// All elements are whole numbers below 2^bits, times one power of two. Not a small number if one
  /// of them is not finite.
  int bits(int64_t line) const;

  struct State {
    alignas(64) double squares[kMost], largest[kMost], smallest[kMost];
    alignas(64) uint64_t mantissas[kMost];
  };

private:
  State state;
};

} // namespace cupel::reference
