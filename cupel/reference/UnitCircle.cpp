#include "cupel/reference/UnitCircle.h"

#include <cmath>
#include <utility>

#pragma clang fp contract(off)

namespace cupel::reference {

namespace {

/// Where in the first eighth of the circle a point lies, and how it got there.
struct Octant {
  uint64_t number, rest; // eighths, and in units of 1 / denominator of an eighth
  bool mirrored;

  Octant(uint64_t numerator, uint64_t denominator)
      : number(8 * numerator / denominator), rest(8 * numerator - number * denominator),
        mirrored(number & 1) {
    if (mirrored)
      rest = denominator - rest;
  }
  CirclePoint back(double sine, double cosine) const {
    if (mirrored)
      std::swap(sine, cosine);
    switch (number / 2) {
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
};

/// A number as the sum of two doubles.
struct Pair {
  double high, low;

  static Pair sum(double a, double b) {
    double s = a + b, part = s - a;
    return {s, (a - (s - part)) + (b - part)};
  }
  Pair operator+(Pair b) const {
    Pair s = sum(high, b.high);
    return sum(s.high, s.low + (low + b.low));
  }
  Pair operator*(Pair b) const {
    double product = high * b.high;
    double rest = std::fma(high, b.high, -product) + (high * b.low + low * b.high);
    return sum(product, rest);
  }
  Pair operator/(double b) const {
    double quotient = high / b;
    return sum(quotient, (std::fma(-quotient, b, high) + low) / b);
  }
};

} // namespace

CirclePoint circlePoint(uint64_t numerator, uint64_t denominator) {
  Octant octant(numerator, denominator);
  constexpr double eighth = 0.78539816339744830961566;
  double x = eighth * (static_cast<double>(octant.rest) / static_cast<double>(denominator));
  double square = x * x;
  // Taylor's series: what is left out is below 2^-58 for x <= pi / 4.
  double sine = 0, cosine = 0;
  for (int i = 19; i >= 3; i -= 2)
    sine = (1 + sine) * (-square / (i * (i - 1)));
  sine = x + x * sine;
  for (int i = 18; i >= 2; i -= 2)
    cosine = (1 + cosine) * (-square / (i * (i - 1)));
  cosine = 1 + cosine;
  return octant.back(sine, cosine);
}

namespace {

constexpr Pair kEighth{0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}; // pi / 4

CirclePoint pointAt(const Octant &octant, Pair x) {
  Pair square = x * x, one{1, 0}, sine{0, 0}, cosine{0, 0};
  square = {-square.high, -square.low};
  // As above, to 2^-100.
  for (int i = 27; i >= 3; i -= 2)
    sine = (one + sine) * (square / (i * (i - 1)));
  sine = x + x * sine;
  for (int i = 26; i >= 2; i -= 2)
    cosine = (one + cosine) * (square / (i * (i - 1)));
  cosine = one + cosine;
  return octant.back(sine.high, cosine.high);
}

} // namespace

CirclePoint exactCirclePoint(uint64_t numerator, uint64_t denominator) {
  Octant octant(numerator, denominator);
  Pair part = Pair{static_cast<double>(octant.rest), 0} / static_cast<double>(denominator);
  return pointAt(octant, kEighth * part);
}

CirclePoint roundedCirclePoint(uint64_t numerator, uint64_t denominator) {
  Octant octant(numerator, denominator);
  double unit = (kEighth / static_cast<double>(denominator)).high;
  return pointAt(octant, {static_cast<double>(octant.rest) * unit, 0});
}

} // namespace cupel::reference
