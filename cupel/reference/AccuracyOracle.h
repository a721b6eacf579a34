// Exact values to measure the reference by: MPFR computes a function to any number of bits, rounds
// it as a float format does (subnormals and overflow included), and says how far off a result is.
// Used by the accuracy test only; must never share code with the kernels it judges.

#pragma once

#include "cupel/reference/Loops.h"
#include "cupel/tensor/Float.h"

#include <cmath>
#include <limits>
#include <mpfr.h>

namespace cupel::reference {

struct Bits {
  mpfr_prec_t count;
};

// MPFR has macros by the name of some functions that look into the number; they take pointers only,
// so those functions are called as (mpfr_sgn)(x).
class Real {
public:
  explicit Real(Bits precision) { mpfr_init2(value, precision.count); }
  explicit Real(double x) : Real(Bits{53}) { *this = x; }
  Real &operator=(double x) {
    mpfr_set_d(value, x, MPFR_RNDN);
    return *this;
  }
  Real(const Real &) = delete;
  Real &operator=(const Real &) = delete;
  ~Real() { mpfr_clear(value); }
  operator mpfr_ptr() { return value; }
  operator mpfr_srcptr() const { return value; }
  double toDouble() const { return mpfr_get_d(value, MPFR_RNDN); }

private:
  mpfr_t value;
};

/// Sets the first to f(second, third), correctly rounded to its precision; the ternary value of
/// MPFR. Unary functions ignore the third.
using ExactFunction = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr);

/// A function under test, with the range where half of the random operands are taken from.
struct MeasuredFunction {
  ElementOp op;
  ExactFunction exact;
  double low, high;         // of f32 and below
  double lowWide, highWide; // of f64
  double limitWide = 2;     // ULP in f64
  double hardWide = 0;      // an operand known to be hard in f64, taken as a sample if not 0
};

namespace detail {

inline int exactLogistic(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr) {
  // So many bits more than r has that rounding twice does no harm.
  thread_local Real t(Bits{160});
  mpfr_neg(t, x, MPFR_RNDN);
  mpfr_exp(t, t, MPFR_RNDN);
  mpfr_add_ui(t, t, 1, MPFR_RNDN);
  mpfr_ui_div(t, 1, t, MPFR_RNDN);
  return mpfr_set(r, t, MPFR_RNDN);
}

inline int exactRsqrt(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr) {
  int ternary = mpfr_rec_sqrt(r, x, MPFR_RNDN);
  // IEEE 754 wants 1/sqrt(-0) = -inf; MPFR has +inf.
  if (mpfr_zero_p(x) && mpfr_signbit(x))
    mpfr_set_inf(r, -1);
  return ternary;
}

} // namespace detail

#define UNARY(name) [](mpfr_ptr r, mpfr_srcptr a, mpfr_srcptr) { return name(r, a, MPFR_RNDN); }
#define BINARY(name)                                                                               \
  [](mpfr_ptr r, mpfr_srcptr a, mpfr_srcptr b) { return name(r, a, b, MPFR_RNDN); }
inline const MeasuredFunction kMeasured[] = {
    {ElementOp::Exponential, UNARY(mpfr_exp), -104, 89, -746, 710},
    {ElementOp::ExponentialMinusOne, UNARY(mpfr_expm1), -20, 89, -40, 710},
    {ElementOp::Log, UNARY(mpfr_log), 0, 100, 0, 100},
    {ElementOp::LogPlusOne, UNARY(mpfr_log1p), -1, 10, -1, 10},
    // Where 1/(1+exp(-x)), which rounds three times, is off by 2.46 ULP.
    {ElementOp::Logistic, detail::exactLogistic, -104, 20, -746, 40, 2, -0x1.25e90d411e6eap+5},
    {ElementOp::Sqrt, UNARY(mpfr_sqrt), 0, 1e4, 0, 1e4},
    {ElementOp::Rsqrt, detail::exactRsqrt, 0, 1e4, 0, 1e4},
    {ElementOp::Cbrt, UNARY(mpfr_cbrt), -1e4, 1e4, -1e4, 1e4},
    {ElementOp::Sine, UNARY(mpfr_sin), -100, 100, -100, 100},
    {ElementOp::Cosine, UNARY(mpfr_cos), -100, 100, -100, 100},
    {ElementOp::Tan, UNARY(mpfr_tan), -100, 100, -100, 100},
    // Where the C library's own is off by 2.18 ULP.
    {ElementOp::Tanh, UNARY(mpfr_tanh), -10, 10, -20, 20, 2, 0x1.df886eeea647dp-3},
    // Powers take 2^(x/4) for x in the range as base, the range as exponent.
    {ElementOp::Power, BINARY(mpfr_pow), -12, 12, -32, 32},
    {ElementOp::Atan2, BINARY(mpfr_atan2), -10, 10, -10, 10},
};
#undef UNARY
#undef BINARY

/// Rounds exact values to a format and measures distances in its units.
template <tensor::DType type> class Format {
  static constexpr tensor::FloatFormat format() {
    if constexpr (type == tensor::DType::F32)
      return {8, 23, 127};
    else if constexpr (type == tensor::DType::F64)
      return {11, 52, 1023};
    else
      return tensor::FormatOf<type>::value;
  }
  static constexpr tensor::FloatFormat kFormat = format();
  static constexpr bool kHasInfinity = kFormat.specials == tensor::FloatSpecials::Ieee;
  static constexpr int kLowest = 1 - kFormat.bias; // exponent of the smallest normal value
  static constexpr int kHighest =
      (1 << kFormat.exponentBits) - (kHasInfinity ? 2 : 1) - kFormat.bias;

public:
  static constexpr int kBits = kFormat.mantissaBits + 1;
  static double largest() {
    // Fn gives its topmost pattern to NaN.
    int missing = kFormat.specials == tensor::FloatSpecials::Fn ? 2 : 1;
    return std::ldexp(std::ldexp(1.0, kBits) - missing, kHighest - kFormat.mantissaBits);
  }

  /// f(a, b) rounded once to the format.
  static double rounded(ExactFunction f, const Real &a, const Real &b) {
    thread_local Real r(Bits{kBits});
    int ternary = f(r, a, b);
    mpfr_exp_t before = mpfr_get_emin();
    mpfr_set_emin(kLowest - kFormat.mantissaBits + 1);
    ternary = mpfr_check_range(r, ternary, MPFR_RNDN);
    mpfr_subnormalize(r, ternary, MPFR_RNDN);
    mpfr_set_emin(before);
    if (mpfr_nan_p(r))
      return std::numeric_limits<double>::quiet_NaN();
    if (mpfr_cmpabs(r, Real(largest())) > 0)
      return kHasInfinity ? std::copysign(INFINITY, (mpfr_sgn)(r))
                          : std::numeric_limits<double>::quiet_NaN();
    if (mpfr_zero_p(r) && kFormat.specials == tensor::FloatSpecials::FnUz)
      return 0;
    return r.toDouble();
  }

  /// |result - f(a, b)| in units in the last place of the exact value. An infinity counts as the
  /// value after the largest; NaN where there should be none, or the reverse, is infinitely wrong.
  static double ulps(double result, ExactFunction f, const Real &a, const Real &b) {
    thread_local Real exact(Bits{kBits + 64}), difference(Bits{kBits + 64});
    f(exact, a, b);
    if (mpfr_nan_p(exact) || std::isnan(result))
      return mpfr_nan_p(exact) && std::isnan(result) ? 0 : INFINITY;
    if (mpfr_inf_p(exact))
      return result == mpfr_get_d(exact, MPFR_RNDN) ? 0 : INFINITY;
    Real value(result);
    if (std::isinf(result)) {
      mpfr_set_si_2exp(value, result < 0 ? -1 : 1, kHighest + 1, MPFR_RNDN);
      if (mpfr_cmpabs(exact, value) >= 0 && (mpfr_sgn)(exact) == (mpfr_sgn)(value))
        return 0;
    }
    mpfr_sub(difference, value, exact, MPFR_RNDN);
    long exponent = mpfr_zero_p(exact) ? kLowest : mpfr_get_exp(exact) - 1;
    exponent = std::min<long>(std::max<long>(exponent, kLowest), kHighest);
    mpfr_mul_2si(difference, difference, kFormat.mantissaBits - exponent, MPFR_RNDN);
    return std::fabs(difference.toDouble());
  }
};

} // namespace cupel::reference
