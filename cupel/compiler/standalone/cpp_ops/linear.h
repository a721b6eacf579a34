// Linear algebra beyond products: factors, triangular systems, Fourier transforms.
#pragma once

#include "movement.h"

namespace ops {

template <class T> inline T conjugate(const T &x) {
  if constexpr (is_complex_v<T>)
    return std::conj(x);
  else
    return x;
}

/// Only one triangle is read; what is not positive definite gives NaN.
template <class T> inline Tensor<T> cholesky(const Tensor<T> &x, bool lower) {
  using W = typename Accumulates<T>::type;
  int64_t n = x.shape.back(), batches = n != 0 ? x.size() / (n * n) : 0;
  Tensor<T> result = full<T>(x.shape, convert<T>(0.0));
  std::vector<W> l(size_t(n * n));
  for (int64_t m = 0; m < batches; ++m) {
    const T *a = x.data() + m * n * n;
    T *to = result.data() + m * n * n;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = j; i < n; ++i) {
        W sum = lower ? convert<W>(a[i * n + j]) : conjugate(convert<W>(a[j * n + i]));
        for (int64_t k = 0; k < j; ++k)
          sum = sum - l[size_t(i * n + k)] * conjugate(l[size_t(j * n + k)]);
        l[size_t(i * n + j)] = i == j ? W(std::sqrt(std::real(sum))) : W(sum / l[size_t(j * n + j)]);
      }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j)
        to[lower ? i * n + j : j * n + i] =
            convert<T>(lower ? l[size_t(i * n + j)] : conjugate(l[size_t(i * n + j)]));
  }
  return result;
}

template <class T>
inline Tensor<T> triangular_solve(const Tensor<T> &a, const Tensor<T> &b, bool left_side, bool lower,
                                  bool unit_diagonal, const std::string &transpose_a) {
  using W = typename Accumulates<T>::type;
  int64_t n = a.shape.back(), rows = b.shape[b.shape.size() - 2], columns = b.shape.back();
  int64_t batches = rows * columns != 0 ? b.size() / (rows * columns) : 0, lines = left_side ? columns : rows;
  bool is_transposed = (transpose_a != "NO_TRANSPOSE") != !left_side, is_adjoint = transpose_a == "ADJOINT";
  bool is_lower = lower != is_transposed;
  Tensor<T> result(b.shape);
  for (int64_t m = 0; m < batches; ++m) {
    const T *from = a.data() + m * n * n;
    auto at = [&](int64_t i, int64_t j) {
      W value = convert<W>(is_transposed ? from[j * n + i] : from[i * n + j]);
      return is_adjoint ? conjugate(value) : value;
    };
    for (int64_t line = 0; line < lines; ++line) {
      auto place = [&](int64_t i) { return m * rows * columns + (left_side ? i * columns + line : line * columns + i); };
      std::vector<W> x(static_cast<size_t>(n));
      for (int64_t step = 0; step < n; ++step) {
        int64_t i = is_lower ? step : n - 1 - step;
        W sum = convert<W>(b[place(i)]);
        for (int64_t k = is_lower ? 0 : i + 1; k < (is_lower ? i : n); ++k)
          sum = sum - at(i, k) * x[size_t(k)];
        x[size_t(i)] = unit_diagonal ? sum : W(sum / at(i, i));
        result[place(i)] = convert<T>(x[size_t(i)]);
      }
    }
  }
  return result;
}

/// One line of a transform of any length: by halves while the length is even, then by the formula.
inline void transform_line(std::vector<c128> &x, bool is_inverse) {
  size_t n = x.size();
  if (n <= 1)
    return;
  double turn = (is_inverse ? 2 : -2) * 3.14159265358979323846 / double(n);
  if (n % 2 == 0) {
    std::vector<c128> even(n / 2), odd(n / 2);
    for (size_t i = 0; i < n / 2; ++i) {
      even[i] = x[2 * i];
      odd[i] = x[2 * i + 1];
    }
    transform_line(even, is_inverse);
    transform_line(odd, is_inverse);
    for (size_t i = 0; i < n / 2; ++i) {
      c128 turned = std::polar(1.0, turn * double(i)) * odd[i];
      x[i] = even[i] + turned;
      x[i + n / 2] = even[i] - turned;
    }
    return;
  }
  std::vector<c128> result(n);
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < n; ++k)
      result[i] += x[k] * std::polar(1.0, turn * double(i * k % n));
  x = result;
}
inline void transform(Tensor<c128> &x, int64_t dimension, bool is_inverse) {
  int64_t n = x.shape[size_t(dimension)], inner = 1;
  for (size_t d = size_t(dimension) + 1; d < x.shape.size(); ++d)
    inner *= x.shape[d];
  std::vector<c128> line(static_cast<size_t>(n));
  for (int64_t l = 0; n && l < x.size() / n; ++l) {
    int64_t first = l / inner * n * inner + l % inner;
    for (int64_t i = 0; i < n; ++i)
      line[size_t(i)] = x[first + i * inner];
    transform_line(line, is_inverse);
    for (int64_t i = 0; i < n; ++i)
      x[first + i * inner] = is_inverse ? line[size_t(i)] / double(n) : line[size_t(i)];
  }
}
template <class R, class T>
inline Tensor<R> fft(const Tensor<T> &x, const std::string &type, const Dims &length) {
  bool is_inverse = type == "IFFT" || type == "IRFFT";
  size_t rank = x.shape.size(), last = rank - 1, first = rank - length.size();
  Dims whole = x.shape;
  whole[last] = length.back();
  Tensor<c128> wide = full<c128>(whole, c128(0));
  if (type == "IRFFT") {
    // The half that is given is transformed in the other dimensions; the last one has its mirror image.
    Tensor<c128> half(x.shape);
    for (int64_t i = 0; i < x.size(); ++i)
      half[i] = convert<c128>(x[i]);
    for (size_t d = first; d < last; ++d)
      transform(half, int64_t(d), true);
    int64_t have = x.shape[last], want = length.back();
    for (int64_t line = 0; have && line < x.size() / have; ++line)
      for (int64_t i = 0; i < want; ++i) {
        int64_t mirror = i < have ? i : want - i;
        c128 value = half[line * have + mirror];
        wide[line * want + i] = i < have ? value : std::conj(value);
        if (i == 0 || 2 * i == want)
          wide[line * want + i] = value.real();
      }
    transform(wide, int64_t(last), true);
  } else {
    for (int64_t i = 0; i < x.size(); ++i)
      wide[i] = convert<c128>(x[i]);
    for (size_t d = rank; d-- > first;)
      transform(wide, int64_t(d), is_inverse);
  }
  Dims shape = whole;
  if (type == "RFFT")
    shape[last] = length.back() / 2 + 1;
  Tensor<R> result(shape);
  for (int64_t i = 0; i < result.size(); ++i)
    result[i] = convert<R>(wide[i / shape[last] * whole[last] + i % shape[last]]);
  return result;
}

} // namespace ops
