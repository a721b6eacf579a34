#include "cupel/compiler/codegen/RuntimeMath.h"

#include <cmath>

namespace cupel::codegen {
namespace {

double logistic(double x) {
  double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

template <typename T, auto function> void unary(T *result, const T *a, const T *, int64_t lanes) {
  for (int64_t i = 0; i < lanes; ++i)
    result[i] = function(a[i]);
}
template <typename T, auto function>
void binary(T *result, const T *a, const T *b, int64_t lanes) {
  for (int64_t i = 0; i < lanes; ++i)
    result[i] = function(a[i], b[i]);
}

#define UNARY(name, T, suffix, expression)                                                         \
  {"cupel_codegen_" #name suffix,                                                                  \
   reinterpret_cast<void *>(&unary<T, [](T x) -> T { return static_cast<T>(expression); }>)}
#define BINARY(name, T, suffix, expression)                                                        \
  {"cupel_codegen_" #name suffix,                                                                  \
   reinterpret_cast<void *>(&binary<T, [](T x, T y) -> T { return expression; }>)}

const RuntimeSymbol kSymbols[] = {
    // Huge angles of f32; f64 has the digits to round once.
    UNARY(sin, float, "_f32", std::sin(static_cast<double>(x))),
    UNARY(cos, float, "_f32", std::cos(static_cast<double>(x))),
    UNARY(tan, float, "_f32", std::tan(static_cast<double>(x))),
    BINARY(fmod, float, "_f32", std::fmod(x, y)),
    UNARY(exp, double, "_f64", std::exp(x)),
    UNARY(expm1, double, "_f64", std::expm1(x)),
    UNARY(log, double, "_f64", std::log(x)),
    UNARY(log1p, double, "_f64", std::log1p(x)),
    UNARY(logistic, double, "_f64", logistic(x)),
    UNARY(tanh, double, "_f64", std::tanh(x)),
    UNARY(erf, double, "_f64", std::erf(x)),
    UNARY(sin, double, "_f64", std::sin(x)),
    UNARY(cos, double, "_f64", std::cos(x)),
    UNARY(tan, double, "_f64", std::tan(x)),
    UNARY(cbrt, double, "_f64", std::cbrt(x)),
    BINARY(pow, double, "_f64", std::pow(x, y)),
    BINARY(atan2, double, "_f64", std::atan2(x, y)),
    BINARY(fmod, double, "_f64", std::fmod(x, y)),
};
#undef UNARY
#undef BINARY

} // namespace

std::span<const RuntimeSymbol> runtimeSymbols() { return kSymbols; }

} // namespace cupel::codegen
