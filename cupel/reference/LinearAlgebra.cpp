#include "cupel/reference/LinearAlgebra.h"

#include "cupel/reference/Parallel.h"

#include "cupel/tensor/Convert.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

/// All computation is in one of two types.
DType computedIn(DType type) { return tensor::isComplex(type) ? DType::C128 : DType::F64; }

double conjugate(double x) { return x; }
std::complex<double> conjugate(std::complex<double> z) { return std::conj(z); }
double realPart(double x) { return x; }
double realPart(std::complex<double> z) { return z.real(); }
/// Written out: the library's multiplication looks for NaN and calls a function.
double times(double a, double b) { return a * b; }
std::complex<double> times(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Row by row; `a` and `l` are n x n.
template <typename T> bool factorize(const T *a, T *l, int64_t n, bool lower) {
  for (int64_t i = 0; i < n && !isStopped(); ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      T sum = lower ? a[i * n + j] : conjugate(a[j * n + i]);
      for (int64_t k = 0; k < j; ++k)
        sum -= times(l[i * n + k], conjugate(l[j * n + k]));
      if (i != j) {
        l[i * n + j] = sum / realPart(l[j * n + j]);
        continue;
      }
      double square = realPart(sum);
      if (!(square > 0) || std::isinf(square))
        return false;
      l[i * n + i] = std::sqrt(square);
    }
  }
  return true;
}

template <typename T> void transposeInPlace(T *a, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) {
      std::swap(a[i * n + j], a[j * n + i]);
      a[j * n + i] = conjugate(a[j * n + i]);
    }
}

template <typename T> void choleskyAll(const Tensor &a, Tensor &out, int64_t n, bool lower) {
  const T *from = a.dataAs<T>();
  T *to = out.mutableAs<T>();
  if (n == 0)
    return;
  auto each = static_cast<double>(n) * static_cast<double>(n * n) / 3;
  forEach(a.size() / (n * n), each, [&](int64_t matrix) {
    int64_t start = matrix * n * n;
    if (!factorize(from + start, to + start, n, lower))
      std::fill_n(to + start, n * n, T(std::numeric_limits<double>::quiet_NaN()));
    else if (!lower)
      transposeInPlace(to + start, n);
  });
}

/// Solves m * x = b, where m (n x n, read through strides) is lower triangular and x, b are n x
/// columns with rows `rowStep` and columns `columnStep` apart. Backward: m is upper triangular.
template <typename T> struct Substitution {
  const T *a;
  int64_t n, rowStride, columnStride; // of op(a)
  bool conjugated, unitDiagonal, backward;

  T at(int64_t i, int64_t j) const {
    T value = a[i * rowStride + j * columnStride];
    return conjugated ? conjugate(value) : value;
  }
  void run(T *x, int64_t rowStep, int64_t columns, int64_t columnStep) const {
    for (int64_t step = 0; step < n && !isStopped(); ++step) {
      int64_t i = backward ? n - 1 - step : step;
      for (int64_t done = 0; done < step; ++done) {
        int64_t j = backward ? n - 1 - done : done;
        T factor = at(i, j);
        for (int64_t c = 0; c < columns; ++c)
          x[i * rowStep + c * columnStep] -= times(factor, x[j * rowStep + c * columnStep]);
      }
      if (unitDiagonal)
        continue;
      T pivot = at(i, i);
      for (int64_t c = 0; c < columns; ++c)
        x[i * rowStep + c * columnStep] /= pivot;
    }
  }
};

template <typename T>
void solveAll(const Tensor &a, Tensor &x, int64_t n, const TriangularSolveOptions &options) {
  int64_t rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
  bool transposed = options.transpose != Transpose::None;
  // op(a) from the left; from the right, solve with the transpose of op(a) on the transposed b.
  bool swapped = transposed != !options.leftSide;
  bool lower = options.lower != swapped;
  T *data = x.mutableAs<T>();
  const T *matrix = a.dataAs<T>();
  auto each = static_cast<double>(n) * static_cast<double>(rows * columns) / 2;
  forEach(x.size() / (rows * columns), each, [&](int64_t number) {
    int64_t start = number * rows * columns;
    Substitution<T> solve{matrix + number * n * n,
                          n,
                          swapped ? 1 : n,
                          swapped ? n : 1,
                          options.transpose == Transpose::Adjoint,
                          options.unitDiagonal,
                          !lower};
    if (options.leftSide)
      solve.run(data + start, columns, columns, 1);
    else
      solve.run(data + start, 1, rows, columns);
  });
}

Error notFitting(const char *op, const Tensor &a) {
  return {std::string(op) + ": the last two dimensions of " +
          tensor::describe(a.elementType(), a.shape()) + " do not make fitting matrices"};
}

Status checkMatrices(const char *op, const Tensor &a) {
  if (a.rank() < 2 || a.dim(a.rank() - 1) != a.dim(a.rank() - 2))
    return notFitting(op, a);
  if (!tensor::isFloat(a.dtype()) && !tensor::isComplex(a.dtype()))
    return Error{std::string(op) + ": elements must be floats or complex numbers, not " +
                 a.elementType().str()};
  return {};
}

} // namespace

Result<Tensor> cholesky(const Tensor &a, bool lower) {
  if (Status ok = checkMatrices("cholesky", a); !ok)
    return ok.error();
  DType type = computedIn(a.dtype());
  Result<Tensor> wide = tensor::convert(a, type);
  if (!wide)
    return wide;
  Result<Tensor> factor = Tensor::zeros(type, {a.shape().begin(), a.shape().end()});
  if (!factor)
    return factor;
  int64_t n = a.dim(a.rank() - 1);
  if (type == DType::F64)
    choleskyAll<double>(*wide, *factor, n, lower);
  else
    choleskyAll<std::complex<double>>(*wide, *factor, n, lower);
  return tensor::convert(*factor, a.dtype());
}

Result<Tensor> triangularSolve(const Tensor &a, const Tensor &b,
                               const TriangularSolveOptions &options) {
  if (Status ok = checkMatrices("triangular_solve", a); !ok)
    return ok.error();
  int64_t rank = a.rank(), n = a.dim(rank - 1);
  bool fits = b.rank() == rank && b.dtype() == a.dtype();
  for (int64_t d = 0; fits && d < rank - 2; ++d)
    fits = a.dim(d) == b.dim(d);
  if (!fits || b.dim(options.leftSide ? rank - 2 : rank - 1) != n)
    return Error{"triangular_solve: " + tensor::describe(b.elementType(), b.shape()) +
                 " does not fit " + tensor::describe(a.elementType(), a.shape())};
  DType type = computedIn(a.dtype());
  Result<Tensor> matrix = tensor::convert(a, type);
  if (!matrix)
    return matrix;
  Result<Tensor> wide = tensor::convert(b, type);
  if (!wide)
    return wide;
  Result<Tensor> x = Tensor::uninitialized(type, {b.shape().begin(), b.shape().end()});
  if (!x)
    return x;
  if (x->size() == 0)
    return tensor::convert(*x, b.dtype());
  std::memcpy(x->mutableData(), wide->data(), static_cast<size_t>(wide->byteSize()));
  if (type == DType::F64)
    solveAll<double>(*matrix, *x, n, options);
  else
    solveAll<std::complex<double>>(*matrix, *x, n, options);
  return tensor::convert(*x, b.dtype());
}

} // namespace cupel::reference
