// Transcendental functions of f32 and smaller types, computed in f64 by polynomials that vectorise.
// They are off by a few units of f64, so that rounding to f32 errs about once in 10^7 values. The
// operations are the same on every machine, one after another and never fused, so the bits are too;
// AVX2 only does four of them at a time, AVX-512 eight. f64 itself keeps the C library's functions.

#include "cupel/reference/Loops.h"

#include <bit>
#include <cmath>

namespace cupel::reference {
namespace {

#define ALWAYS [[gnu::always_inline]] inline

/// e^x = scale * (1 + p), scale a power of two: p keeps its digits where it is small.
struct Parts {
  double scale, p;
};

/// For |x| <= 200 or NaN, which becomes the NaN of p.
ALWAYS Parts exponentialParts(double x) {
  constexpr double kMagic = 0x1.8p52; // Adding it rounds to an integer, in the low bits.
  double shifted = x * 0x1.71547652b82fep0 + kMagic;
  double k = shifted - kMagic;
  // ln 2 in two parts, the first short enough for exact products.
  double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
  // r + r^2/2! + ... + r^12/12!, |r| <= ln(2)/2, in pieces that do not wait for one another.
  double s = r * r, q = s * s;
  double low = (1.0 / 2 + r * (1.0 / 6)) + s * (1.0 / 24 + r * (1.0 / 120));
  double middle = (1.0 / 720 + r * (1.0 / 5040)) + s * (1.0 / 40320 + r * (1.0 / 362880));
  double high = (1.0 / 3628800 + r * (1.0 / 39916800)) + s * (1.0 / 479001600);
  double p = r + s * (low + q * (middle + q * high));
  uint64_t scale = (std::bit_cast<uint64_t>(shifted) << 52) + 0x3ff0000000000000u;
  return {std::bit_cast<double>(scale), p};
}

/// exp for operands whose result f32 can tell from zero and infinity; others are moved to where it
/// cannot. NaN stays.
ALWAYS double exponential(double x) {
  double bounded = x < -200 ? -200 : x;
  bounded = bounded > 200 ? 200 : bounded;
  Parts e = exponentialParts(bounded);
  return e.scale + e.scale * e.p;
}

ALWAYS double logistic(double x) { return 1 / (1 + exponential(-x)); }

/// (e^2x - 1) / (e^2x + 1), the numerator without cancellation.
ALWAYS double tanh(double x) {
  double y = 2 * std::fabs(x);
  y = y > 40 ? 40 : y; // From there on it is 1 in f64.
  Parts e = exponentialParts(y);
  double numerator = (e.scale - 1) + e.scale * e.p;
  return std::copysign(numerator / (numerator + 2), x);
}

template <double (*function)(double)> ALWAYS void lanes(const double *in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = function(in[i]);
}

#if defined(__x86_64__)
template <double (*function)(double)>
__attribute__((target("avx2"))) void lanesAvx2(const double *__restrict in, double *__restrict out,
                                               int64_t n) {
  lanes<function>(in, out, n);
}
template <double (*function)(double)>
__attribute__((target("avx512f,avx512dq,avx512vl"))) void
lanesAvx512(const double *__restrict in, double *__restrict out, int64_t n) {
  lanes<function>(in, out, n);
}
#endif
template <double (*function)(double)>
void lanesPlain(const double *__restrict in, double *__restrict out, int64_t n) {
  lanes<function>(in, out, n);
}

template <double (*function)(double)> void loop(const LoopArguments &arguments) {
  const double *in = static_cast<const double *>(arguments.in[0]);
  double *out = static_cast<double *>(arguments.out);
  if (arguments.scalar[0]) {
    double value = function(*in);
    for (int64_t i = 0; i < arguments.lanes; ++i)
      out[i] = value;
    return;
  }
#if defined(__x86_64__)
  static const bool hasAvx512 = __builtin_cpu_supports("avx512f") &&
                                __builtin_cpu_supports("avx512dq") &&
                                __builtin_cpu_supports("avx512vl");
  if (hasAvx512)
    return lanesAvx512<function>(in, out, arguments.lanes);
  static const bool hasAvx2 = __builtin_cpu_supports("avx2");
  if (hasAvx2)
    return lanesAvx2<function>(in, out, arguments.lanes);
#endif
  lanesPlain<function>(in, out, arguments.lanes);
}

} // namespace

LoopFunction narrowLoop(ElementOp op) {
  switch (op) {
  case ElementOp::Exponential:
    return loop<exponential>;
  case ElementOp::Logistic:
    return loop<logistic>;
  case ElementOp::Tanh:
    return loop<tanh>;
  default:
    return doubleLoop(op);
  }
}

} // namespace cupel::reference
