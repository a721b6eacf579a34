// What a program that checks itself checks.
#pragma once

#include "tensor.h"

namespace ops {

inline int &checks_held() {
  static int held = 0;
  return held;
}
template <class T, class F>
inline void check_each(const Tensor<T> &actual, const Tensor<T> &expected, const char *how, const F &is_same) {
  if (actual.shape != expected.shape)
    throw std::runtime_error("a result has another shape than expected");
  for (int64_t i = 0; i < actual.size(); ++i)
    if (!is_same(actual[i], expected[i]))
      throw std::runtime_error("element " + std::to_string(i) + " is not " + how);
  ++checks_held();
}
template <class T> inline void expect_eq(const Tensor<T> &actual, const Tensor<T> &expected) {
  check_each(actual, expected, "equal", [](const T &a, const T &b) { return equal(a, b); });
}
template <class T, class F> inline bool each_part(const T &a, const T &b, const F &f) {
  if constexpr (is_complex_v<T>)
    return f(a.real(), b.real()) && f(a.imag(), b.imag());
  else
    return f(a, b);
}
template <class T> inline void expect_almost_eq(const Tensor<T> &actual, const Tensor<T> &expected, double tolerance) {
  check_each(actual, expected, "near enough", [&](const T &a, const T &b) {
    return each_part(a, b, [&](auto x, auto y) {
      double u = double(comparable(x)), v = double(comparable(y));
      return u == v || (std::isnan(u) && std::isnan(v)) || std::fabs(u - v) <= tolerance;
    });
  });
}
/// The number of a float in the order of all of its type.
template <class T> inline int64_t ordinal(const T &x) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const void *>(&x), sizeof(T));
  uint64_t top = uint64_t(1) << (sizeof(T) * 8 - 1);
  int64_t size = int64_t(bits & (top - 1));
  return bits & top ? -size : size;
}
template <class T>
inline void expect_close(const Tensor<T> &actual, const Tensor<T> &expected, int64_t least, int64_t most) {
  const char *given = std::getenv("OPS_CHECK_TOLERANCE");
  double tolerance = given ? std::atof(given) : 0, largest = 0;
  for (int64_t i = 0; tolerance > 0 && i < expected.size(); ++i)
    each_part(expected[i], expected[i], [&](auto x, auto) {
      double size = std::fabs(double(comparable(x)));
      if (std::isfinite(size))
        largest = std::max(largest, size);
      return true;
    });
  check_each(actual, expected, "so many units in the last place from what is expected", [&](const T &a, const T &b) {
    return each_part(a, b, [&](auto x, auto y) {
      if constexpr (is_float_v<decltype(x)>) {
        double u = double(comparable(x)), v = double(comparable(y));
        if (!std::isfinite(u) || !std::isfinite(v))
          return u == v || (std::isnan(u) && std::isnan(v));
        int64_t apart = std::abs(ordinal(x) - ordinal(y));
        return (apart >= least && apart <= most) || std::fabs(u - v) <= tolerance * largest;
      } else
        return equal(x, y);
    });
  });
}
template <class T> inline Tensor<bool> check_eq(const Tensor<T> &expected, const Tensor<T> &actual) {
  if constexpr (is_float_v<T> || is_complex_v<T>)
    expect_almost_eq(actual, expected, 1e-4);
  else
    expect_eq(actual, expected);
  return Tensor<bool>(true);
}

template <class... Sizes>
inline void shape_assertion(const Tensor<bool> &condition, const std::string &message, const Sizes &...) {
  if (!condition.item())
    throw std::runtime_error(message);
}

} // namespace ops
