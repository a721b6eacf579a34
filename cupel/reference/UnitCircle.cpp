#include "cupel/reference/UnitCircle.h"

#include <utility>

#pragma clang fp contract(off)

namespace cupel::reference {

CirclePoint circlePoint(uint64_t numerator, uint64_t denominator) {
  // Into the first eighth of the circle, in integers.
  uint64_t octant = 8 * numerator / denominator;
  uint64_t rest = 8 * numerator - octant * denominator; // eighths, in units of 1 / denominator
  bool mirrored = octant & 1;
  if (mirrored)
    rest = denominator - rest;
  constexpr double eighth = 0.78539816339744830961566;
  double x = eighth * (static_cast<double>(rest) / static_cast<double>(denominator));
  double square = x * x;
  // Taylor's series: what is left out is below 2^-58 for x <= pi / 4.
  double sine = 0, cosine = 0;
  for (int i = 19; i >= 3; i -= 2)
    sine = (1 + sine) * (-square / (i * (i - 1)));
  sine = x + x * sine;
  for (int i = 18; i >= 2; i -= 2)
    cosine = (1 + cosine) * (-square / (i * (i - 1)));
  cosine = 1 + cosine;
  if (mirrored)
    std::swap(sine, cosine);
  switch (octant / 2) {
  case 0:
    return {cosine, sine};
  case 1:
    return {-sine, cosine};
  case 2:
    return {-cosine, -sine};
  default:
    return {sine, -cosine};
  }
}

} // namespace cupel::reference
