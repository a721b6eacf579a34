// Sums as if they were computed exactly and rounded once. A fast sum in f64 comes with a bound of
// its error; where all numbers within that bound round to the same value of the result's type, it
// is the right one, and only where they do not is the sum computed again with more care. So results
// depend neither on the order of the terms nor on the number of threads. Used by the kernels that
// sum floats of 32 bits and below with wide accumulation (and products of those, which are exact in
// f64).

#pragma once

#include "cupel/tensor/Float.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

namespace cupel::reference {

/// Half a unit in the last place of 1: the relative error of one operation in f64.
inline constexpr double kUnit = 0x1p-53;

/// Bounds the error of a sum in f64 (in any order) whose terms' absolute values add up to at most
/// `absolute`, if no term takes part in more than `depth` additions.
inline double sumErrorBound(int64_t depth, double absolute) {
  return static_cast<double>(depth) * (kUnit * (1 + 0x1p-20)) * absolute;
}

/// Whether everything within `error` of `sum` rounds to one value of the type. Of the bounds
/// themselves only a rounding is lost, which the slack makes up for.
template <tensor::DType type> bool roundsSafely(double sum, double error) {
  double slack = error + std::fabs(sum) * 0x1p-52;
  auto low = tensor::fromDouble<type>(sum - slack), high = tensor::fromDouble<type>(sum + slack);
  if constexpr (type == tensor::DType::F32)
    return std::bit_cast<uint32_t>(low) == std::bit_cast<uint32_t>(high); // zeros have signs
  else
    return low == high;
}

/// `count` terms are written to `out`, from the first-th on.
using Terms = std::function<void(int64_t first, int64_t count, double *out)>;

/// The sum of finite terms, such that rounding it to a type for which `roundsSafely` is given is as
/// good as rounding the exact sum. Looks at the terms once or twice.
double carefulSum(int64_t count, const Terms &terms, bool (*roundsSafely)(double, double));

/// A sum whose fast value in f64 is `sum` with an error up to `error`, rounded to the type. Not
/// finite only if a term is not.
template <tensor::DType type>
tensor::Storage<type> roundedSum(double sum, double error, int64_t count, const Terms &terms) {
  if (sum != sum)
    sum = std::numeric_limits<double>::quiet_NaN(); // one NaN, whatever came first
  else if (std::isfinite(sum) && error != 0 && !roundsSafely<type>(sum, error))
    sum = carefulSum(count, terms, roundsSafely<type>);
  return tensor::fromDouble<type>(sum);
}

/// Rounds `count` fast sums to f32, the j-th with an error up to factor * absolute[j]; false if one
/// of them is in doubt (or NaN) and needs `roundedSum`.
bool roundSafely(const double *sums, const double *absolute, double factor, float *out,
                 int64_t count);

/// Adds doubles without any error, in fixed point over their whole range.
class ExactSum {
public:
  /// Finite numbers only.
  void add(double value);
  /// Rounded towards zero, with the last bit set if something was cut off: rounding this to at most
  /// 50 bits is rounding the exact sum. An exact zero is +0.
  double roundedToOdd();

private:
  static constexpr int kLimbs = 70;
  void carry();

  std::array<int64_t, kLimbs> limbs{}; // of 32 bits each, the lowest worth 2^-1088
  int64_t pending = 0;                 // additions since the last carry
};

} // namespace cupel::reference
