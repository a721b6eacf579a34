// Points of the unit circle at rational fractions of a turn, accurate to the last bit or two and
// the same on every machine (the C library's sine is not). Used by the Fourier transform and rng.

#pragma once

#include <cstdint>

namespace cupel::reference {

struct CirclePoint {
  double cosine, sine;
};

/// At numerator / denominator of a full turn; 0 <= numerator < denominator < 2^60.
CirclePoint circlePoint(uint64_t numerator, uint64_t denominator);

/// The same to the last bit, as good as always the nearest doubles, and slower; denominator < 2^50.
CirclePoint exactCirclePoint(uint64_t numerator, uint64_t denominator);

/// As good as always the nearest doubles to the functions of an angle that was rounded to f64
/// itself.
CirclePoint roundedCirclePoint(uint64_t numerator, uint64_t denominator);

} // namespace cupel::reference
