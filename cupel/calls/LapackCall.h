// What the LAPACK handlers share: a call's operands and results as batches of column-major
// matrices, checked against a signature, and LAPACK's four names of one routine as a template. Used
// only by the Lapack*.cpp files beside it.
#pragma once

#include "cupel/calls/CustomCall.h"

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapacke.h>

namespace cupel::calls::lapack {

template <typename T> struct RealOf {
  using type = T;
};
template <typename T> struct RealOf<std::complex<T>> {
  using type = T;
};
template <typename T> using Real = typename RealOf<T>::type;
template <typename T> using Complex = std::complex<Real<T>>;
template <typename T> constexpr bool isComplex = !std::is_same_v<T, Real<T>>;

/// The routine of one element type among LAPACK's four.
template <typename T, typename S, typename D, typename C, typename Z>
constexpr auto routine(S s, D d, C c, Z z) {
  if constexpr (std::is_same_v<T, float>)
    return s;
  else if constexpr (std::is_same_v<T, double>)
    return d;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return c;
  else
    return z;
}

/// A call taken apart. Every operand and result is a stack (of `count`) of scalars, vectors or
/// matrices; values lie row-major in tensors and column-major where LAPACK works on them.
class Batches {
public:
  /// `signature` says what the parts are: "T:mn i:n -> T:mn i:n T:k". Types: T the family's own, R
  /// its real, C its complex kind, i an i32. Letters after the colon are sizes, the same letter the
  /// same size everywhere; what stands before them in a shape is the stack, the same for all.
  static Result<Batches> open(const CustomCall &call, std::string_view signature,
                              tensor::DType type);

  int64_t count() const { return stack; }
  lapack_int size(char letter) const { return static_cast<lapack_int>(sizes[letter - 'a']); }

  /// Element 0 of piece `b`, row-major.
  template <typename U> const U *operand(size_t i, int64_t b) const {
    return operands[i].template dataAs<U>() + b * operandPieces[i];
  }
  template <typename U> U *result(size_t i, int64_t b) {
    return results[i].template mutableAs<U>() + b * resultPieces[i];
  }
  /// A column-major copy of a matrix operand.
  template <typename U> std::vector<U> columns(size_t i, int64_t b) const {
    const tensor::Tensor &from = operands[i];
    int64_t rows = from.dim(from.rank() - 2), width = from.dim(from.rank() - 1);
    const U *data = operand<U>(i, b);
    std::vector<U> copy(rows * width);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c)
        copy[c * rows + r] = data[r * width + c];
    return copy;
  }
  /// Fills a matrix result from columns.
  template <typename U> void store(size_t i, int64_t b, const std::vector<U> &columns) {
    tensor::Tensor &to = results[i];
    int64_t rows = to.dim(to.rank() - 2), width = to.dim(to.rank() - 1);
    U *data = result<U>(i, b);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c)
        data[r * width + c] = columns[c * rows + r];
  }

  std::vector<tensor::Tensor> finish() && { return std::move(results); }

private:
  int64_t stack = 1;
  std::array<int64_t, 26> sizes{};
  std::vector<tensor::Tensor> operands, results;
  std::vector<int64_t> operandPieces, resultPieces; // Elements of one piece.
};

/// LAPACK wants a leading dimension of at least 1.
inline lapack_int leading(lapack_int rows) { return rows > 0 ? rows : 1; }

template <typename T> constexpr tensor::DType typeOf() {
  return routine<T>(tensor::DType::F32, tensor::DType::F64, tensor::DType::C64,
                    tensor::DType::C128);
}

/// What LAPACK says of an operand (its fourth argument) in which it found a NaN.
constexpr int32_t kNotFinite = -4;

/// Whether no element is NaN or infinite; some routines do not end on such input.
template <typename T> bool allFinite(const std::vector<T> &values) {
  for (const T &value : values)
    if (!std::isfinite(std::real(value)) || !std::isfinite(std::imag(value)))
      return false;
  return true;
}

/// Registers lapack_{s,d,c,z}NAME_ffi; `real` and `complex` are the names without the letter (sygst
/// and hegst differ).
using Plain = Result<std::vector<tensor::Tensor>> (*)(const CustomCall &);
void addFamily(CallRegistry &registry, std::string_view real, std::string_view complex, Plain s,
               Plain d, Plain c, Plain z);

// The families, one file each.
void addFactorizations(CallRegistry &registry);
void addEigenvalues(CallRegistry &registry);
void addSolvers(CallRegistry &registry);

} // namespace cupel::calls::lapack
