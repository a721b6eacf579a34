// Singular values, triangular and tridiagonal systems.

#include "cupel/calls/LapackCall.h"

// BLAS and the two auxiliary routines that LAPACK's C interface leaves out.
extern "C" {
#define CUPEL_TRSM(name, T)                                                                        \
  void name(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, \
            const int *n, const T *alpha, const T *a, const int *lda, T *b, const int *ldb);
CUPEL_TRSM(strsm_, float)
CUPEL_TRSM(dtrsm_, double)
CUPEL_TRSM(ctrsm_, std::complex<float>)
CUPEL_TRSM(ztrsm_, std::complex<double>)
#undef CUPEL_TRSM
void slagtf_(const int *n, float *a, const float *lambda, float *b, float *c, const float *tol,
             float *d, int *in, int *info);
void dlagtf_(const int *n, double *a, const double *lambda, double *b, double *c, const double *tol,
             double *d, int *in, int *info);
void slagts_(const int *job, const int *n, const float *a, const float *b, const float *c,
             const float *d, const int *in, float *y, float *tol, int *info);
void dlagts_(const int *job, const int *n, const double *a, const double *b, const double *c,
             const double *d, const int *in, double *y, double *tol, int *info);
}

namespace cupel::calls::lapack {

namespace {

using Answer = Result<std::vector<tensor::Tensor>>;

/// a -> a (destroyed), singular values, left and right vectors, info. What `mode` asks for fixes
/// the sizes of the vectors: (A)ll, the first min(m, n) (S), or (N)one, which leaves zeros.
template <typename T, bool divideAndConquer> Answer svd(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:mn -> T:mn R:k T:mu T:vn i:", typeOf<T>());
  Result<int64_t> mode = call.integer("mode");
  if (!b || !mode)
    return b ? mode.error() : b.error();
  lapack_int m = b->size('m'), n = b->size('n'), k = b->size('k');
  bool sizesFit = k == std::min(m, n);
  if (*mode == 'A')
    sizesFit = sizesFit && b->size('u') == m && b->size('v') == n;
  else if (*mode == 'S')
    sizesFit = sizesFit && b->size('u') == k && b->size('v') == k;
  else if (*mode != 'N')
    return Error{"custom call @" + std::string(call.target) +
                 " has a mode that is none of A, S, N"};
  if (!sizesFit)
    return Error{"custom call @" + std::string(call.target) + " has vectors of the wrong size"};
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    std::vector<T> u(int64_t(m) * b->size('u')), vt(int64_t(b -> size('v')) * n);
    int32_t info = kNotFinite;
    if (allFinite(a)) {
      lapack_int ldvt = leading(*mode == 'N' ? 1 : b->size('v'));
      if constexpr (divideAndConquer) {
        info = routine<T>(LAPACKE_sgesdd, LAPACKE_dgesdd, LAPACKE_cgesdd, LAPACKE_zgesdd)(
            LAPACK_COL_MAJOR, char(*mode), m, n, a.data(), leading(m), b->result<Real<T>>(1, i),
            u.data(), leading(m), vt.data(), ldvt);
      } else {
        std::vector<Real<T>> superdiagonal(std::max<lapack_int>(k, 1));
        info = routine<T>(LAPACKE_sgesvd, LAPACKE_dgesvd, LAPACKE_cgesvd, LAPACKE_zgesvd)(
            LAPACK_COL_MAJOR, char(*mode), char(*mode), m, n, a.data(), leading(m),
            b->result<Real<T>>(1, i), u.data(), leading(m), vt.data(), ldvt, superdiagonal.data());
      }
    }
    *b->result<int32_t>(4, i) = info;
    b->store(0, i, a);
    b->store(2, i, u);
    b->store(3, i, vt);
  }
  return std::move(*b).finish();
}

/// a triangular, b -> the x with op(a) x = b or x op(a) = b.
template <typename T> Answer trsm(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:kk T:mn -> T:mn", typeOf<T>());
  Result<int64_t> side = call.integer("side"), uplo = call.integer("uplo"),
                  trans = call.integer("trans_x"), diag = call.integer("diag");
  for (const Result<int64_t> *attribute : {&side, &uplo, &trans, &diag})
    if (!*attribute)
      return attribute->error();
  if (!b)
    return b.error();
  int m = b->size('m'), n = b->size('n'), k = b->size('k');
  if (k != (*side == 'L' ? m : n))
    return Error{"custom call @" + std::string(call.target) + " has a triangle that does not fit"};
  char sideChar = char(*side), uploChar = char(*uplo), transChar = char(*trans),
       diagChar = char(*diag);
  auto solve = routine<T>(strsm_, dtrsm_, ctrsm_, ztrsm_);
  const T one = 1;
  int lda = leading(k), ldb = leading(m);
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i), x = b->columns<T>(1, i);
    solve(&sideChar, &uploChar, &transChar, &diagChar, &m, &n, &one, a.data(), &lda, x.data(),
          &ldb);
    b->store(0, i, x);
  }
  return std::move(*b).finish();
}

/// Three diagonals of length n (the first of the lower and the last of the upper one count for
/// nothing) and b -> what LAPACK makes of the diagonals, the solution, info.
template <typename T> Answer gtsv(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:n T:n T:n T:nm -> T:n T:n T:n T:nm i:", typeOf<T>());
  if (!b)
    return b.error();
  lapack_int n = b->size('n'), m = b->size('m');
  auto solve = routine<T>(LAPACKE_sgtsv, LAPACKE_dgtsv, LAPACKE_cgtsv, LAPACKE_zgtsv);
  for (int64_t i = 0; i < b->count(); ++i) {
    for (size_t d = 0; d < 3; ++d)
      std::copy_n(b->operand<T>(d, i), n, b->result<T>(d, i));
    std::vector<T> x = b->columns<T>(3, i);
    *b->result<int32_t>(4, i) =
        n == 0 ? 0
               : solve(LAPACK_COL_MAJOR, n, m, b->result<T>(0, i) + 1, b->result<T>(1, i),
                       b->result<T>(2, i), x.data(), leading(n));
    b->store(3, i, x);
  }
  return std::move(*b).finish();
}

/// A tridiagonal matrix taken apart by elimination with row exchanges, and systems solved with it
/// in which a pivot is moved away from zero (by eps times the largest element of U, doubled as
/// often as needed) wherever dividing by it would overflow. What LAPACK's lagtf and lagts do for
/// real numbers, for those types that it leaves out.
template <typename T> class PerturbedSystem {
public:
  PerturbedSystem(std::vector<T> lower, std::vector<T> diagonal, std::vector<T> upper)
      : multipliers(std::move(lower)), pivots(std::move(diagonal)), first(std::move(upper)),
        second(pivots.size()), exchanged(pivots.size()) {
    size_t n = pivots.size();
    for (size_t k = 0; k + 1 < n; ++k) {
      exchanged[k] = std::abs(pivots[k]) < std::abs(multipliers[k]);
      if (exchanged[k]) {
        T multiplier = pivots[k] / multipliers[k], below = pivots[k + 1];
        pivots[k] = multipliers[k];
        pivots[k + 1] = first[k] - multiplier * below;
        first[k] = below;
        if (k + 2 < n) {
          second[k] = first[k + 1];
          first[k + 1] = -multiplier * second[k];
        }
        multipliers[k] = multiplier;
      } else if (pivots[k] != T(0)) {
        multipliers[k] /= pivots[k];
        pivots[k + 1] -= multipliers[k] * first[k];
      }
    }
    Real<T> largest = 0;
    for (const std::vector<T> *part : {&pivots, &first, &second})
      for (const T &value : *part)
        largest = std::max(largest, Real<T>(std::abs(value)));
    tolerance = std::numeric_limits<Real<T>>::epsilon() * (largest > 0 ? largest : Real<T>(1));
  }

  void solve(T *x) const {
    size_t n = pivots.size();
    for (size_t k = 0; k + 1 < n; ++k) {
      if (exchanged[k])
        std::swap(x[k], x[k + 1]);
      x[k + 1] -= multipliers[k] * x[k];
    }
    for (size_t k = n; k-- > 0;) {
      T value = x[k];
      if (k + 1 < n)
        value -= first[k] * x[k + 1];
      if (k + 2 < n)
        value -= second[k] * x[k + 2];
      x[k] = divided(value, pivots[k]);
    }
  }

private:
  static bool isFinite(const T &value) {
    return std::isfinite(std::real(value)) && std::isfinite(std::imag(value));
  }

  T divided(T value, T pivot) const {
    if (!isFinite(value) || !isFinite(pivot))
      return value / pivot;
    T quotient = pivot == T(0) ? T(std::numeric_limits<Real<T>>::infinity()) : value / pivot;
    T step = pivot == T(0) ? T(tolerance) : T(pivot / std::abs(pivot) * tolerance);
    while (!isFinite(quotient)) {
      pivot += step;
      step *= Real<T>(2);
      quotient = value / pivot;
    }
    return quotient;
  }

  std::vector<T> multipliers, pivots, first, second;
  std::vector<bool> exchanged;
  Real<T> tolerance;
};

/// As gtsv, but the solution of a singular system stays finite.
template <typename T> Answer perturbed(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:n T:n T:n T:nm -> T:nm", typeOf<T>());
  if (!b)
    return b.error();
  int n = b->size('n'), m = b->size('m');
  for (int64_t i = 0; i < b->count() && n > 0; ++i) {
    std::vector<T> lower(b->operand<T>(0, i) + 1, b->operand<T>(0, i) + n);
    std::vector<T> diagonal(b->operand<T>(1, i), b->operand<T>(1, i) + n);
    std::vector<T> upper(b->operand<T>(2, i), b->operand<T>(2, i) + n - 1);
    lower.resize(n), upper.resize(n);
    std::vector<T> x = b->columns<T>(3, i);
    if constexpr (isComplex<T>) {
      PerturbedSystem<T> system(std::move(lower), std::move(diagonal), std::move(upper));
      for (int column = 0; column < m; ++column)
        system.solve(x.data() + int64_t(column) * n);
    } else {
      auto factor = routine<T>(slagtf_, dlagtf_, 0, 0);
      auto solve = routine<T>(slagts_, dlagts_, 0, 0);
      std::vector<int> exchanged(n);
      std::vector<T> second(n);
      const T lambda = 0, none = 0;
      int info = 0;
      factor(&n, diagonal.data(), &lambda, upper.data(), lower.data(), &none, second.data(),
             exchanged.data(), &info);
      T tolerance = 0; // LAPACK's own: eps times the largest element of U.
      const int perturbing = -1;
      for (int column = 0; column < m && info == 0; ++column)
        solve(&perturbing, &n, diagonal.data(), upper.data(), lower.data(), second.data(),
              exchanged.data(), x.data() + int64_t(column) * n, &tolerance, &info);
      if (info != 0)
        return Error{"LAPACK refused the arguments of lagtf or lagts"};
    }
    b->store(0, i, x);
  }
  return std::move(*b).finish();
}

Answer perturbedByType(const CustomCall &call) {
  switch (call.operands.empty() ? tensor::DType::I1 : call.operands[0].dtype()) {
  case tensor::DType::F32:
    return perturbed<float>(call);
  case tensor::DType::F64:
    return perturbed<double>(call);
  case tensor::DType::C64:
    return perturbed<std::complex<float>>(call);
  case tensor::DType::C128:
    return perturbed<std::complex<double>>(call);
  default:
    return Error{"custom call @" + std::string(call.target) +
                 " is computed for f32, f64, complex<f32> and complex<f64> only"};
  }
}

using F = float;
using D = double;
using C = std::complex<float>;
using Z = std::complex<double>;

} // namespace

void addSolvers(CallRegistry &registry) {
  addFamily(registry, "gesdd", "gesdd", svd<F, true>, svd<D, true>, svd<C, true>, svd<Z, true>);
  addFamily(registry, "gesvd", "gesvd", svd<F, false>, svd<D, false>, svd<C, false>, svd<Z, false>);
  addFamily(registry, "trsm", "trsm", trsm<F>, trsm<D>, trsm<C>, trsm<Z>);
  addFamily(registry, "gtsv", "gtsv", gtsv<F>, gtsv<D>, gtsv<C>, gtsv<Z>);
  Status status = registry.add("tridiagonal_solve_perturbed_ffi", perturbedByType);
  assert(status);
  (void)status;
}

} // namespace cupel::calls::lapack
