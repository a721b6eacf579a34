// Eigenvalues, symmetric and general; Schur, Hessenberg and tridiagonal forms.

#include "cupel/calls/LapackCall.h"

namespace cupel::calls::lapack {

namespace {

using Answer = Result<std::vector<tensor::Tensor>>;

/// a symmetric -> vectors, values, info.
template <typename T> Answer syevd(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:nn -> T:nn R:n i:", typeOf<T>());
  Result<int64_t> mode = call.integer("mode"), uplo = call.integer("uplo");
  if (!b || !mode || !uplo)
    return !b ? b.error() : !mode ? mode.error() : uplo.error();
  lapack_int n = b->size('n');
  auto decompose = routine<T>(LAPACKE_ssyevd, LAPACKE_dsyevd, LAPACKE_cheevd, LAPACKE_zheevd);
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    *b->result<int32_t>(2, i) = decompose(LAPACK_COL_MAJOR, char(*mode), char(*uplo), n, a.data(),
                                          leading(n), b->result<Real<T>>(1, i));
    b->store(0, i, a);
  }
  return std::move(*b).finish();
}

/// LAPACK keeps the vectors of a conjugate pair of eigenvalues as real and imaginary columns.
template <typename T>
std::vector<std::complex<T>> unpackPairs(const std::vector<T> &packed, const T *imaginary,
                                         lapack_int n) {
  std::vector<std::complex<T>> vectors(packed.size());
  for (lapack_int c = 0; c < n; ++c) {
    if (imaginary[c] == 0 || c + 1 == n || std::isnan(imaginary[c])) {
      for (lapack_int r = 0; r < n; ++r)
        vectors[c * n + r] = packed[c * n + r];
      continue;
    }
    for (lapack_int r = 0; r < n; ++r) {
      T re = packed[c * n + r], im = packed[(c + 1) * n + r];
      vectors[c * n + r] = {re, im};
      vectors[(c + 1) * n + r] = {re, -im};
    }
    ++c;
  }
  return vectors;
}

/// a -> eigenvalues (real and imaginary parts apart for a real a), left and right vectors, info.
template <typename T> Answer geev(const CustomCall &call) {
  constexpr std::string_view signature =
      isComplex<T> ? "T:nn -> T:n T:nn T:nn i:" : "T:nn -> T:n T:n C:nn C:nn i:";
  Result<Batches> b = Batches::open(call, signature, typeOf<T>());
  Result<int64_t> left = call.integer("compute_left"), right = call.integer("compute_right");
  if (!b || !left || !right)
    return !b ? b.error() : !left ? left.error() : right.error();
  lapack_int n = b->size('n');
  constexpr size_t vectorsAt = isComplex<T> ? 1 : 2;
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    std::vector<T> vl(a.size()), vr(a.size());
    int32_t info = kNotFinite;
    if (allFinite(a)) {
      if constexpr (isComplex<T>)
        info = routine<T>(0, 0, LAPACKE_cgeev, LAPACKE_zgeev)(
            LAPACK_COL_MAJOR, char(*left), char(*right), n, a.data(), leading(n),
            b->result<T>(0, i), vl.data(), leading(n), vr.data(), leading(n));
      else
        info = routine<T>(LAPACKE_sgeev, LAPACKE_dgeev, 0, 0)(
            LAPACK_COL_MAJOR, char(*left), char(*right), n, a.data(), leading(n),
            b->result<T>(0, i), b->result<T>(1, i), vl.data(), leading(n), vr.data(), leading(n));
    }
    *b->result<int32_t>(vectorsAt + 2, i) = info;
    if constexpr (isComplex<T>) {
      b->store(1, i, vl);
      b->store(2, i, vr);
    } else {
      const T *imaginary = b->result<T>(1, i);
      b->store(2, i, unpackPairs(vl, imaginary, n));
      b->store(3, i, unpackPairs(vr, imaginary, n));
    }
  }
  return std::move(*b).finish();
}

/// a -> Schur form, Schur vectors, eigenvalues, how many were sorted to the front (0), info.
template <typename T> Answer gees(const CustomCall &call) {
  constexpr std::string_view signature =
      isComplex<T> ? "T:nn -> T:nn T:nn T:n i: i:" : "T:nn -> T:nn T:nn T:n T:n i: i:";
  Result<Batches> b = Batches::open(call, signature, typeOf<T>());
  Result<int64_t> mode = call.integer("mode"), sort = call.integer("sort");
  if (!b || !mode || !sort)
    return !b ? b.error() : !mode ? mode.error() : sort.error();
  if (*sort != 'N')
    return Error{"custom call @" + std::string(call.target) +
                 " asks for sorted eigenvalues, but has no way to say by what"};
  lapack_int n = b->size('n');
  constexpr size_t sdimAt = isComplex<T> ? 3 : 4;
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i), vs(a.size());
    int32_t info = kNotFinite, sdim = 0;
    if (allFinite(a)) {
      if constexpr (isComplex<T>)
        info = routine<T>(0, 0, LAPACKE_cgees, LAPACKE_zgees)(
            LAPACK_COL_MAJOR, char(*mode), 'N', nullptr, n, a.data(), leading(n), &sdim,
            b->result<T>(2, i), vs.data(), leading(n));
      else
        info = routine<T>(LAPACKE_sgees, LAPACKE_dgees, 0,
                          0)(LAPACK_COL_MAJOR, char(*mode), 'N', nullptr, n, a.data(), leading(n),
                             &sdim, b->result<T>(2, i), b->result<T>(3, i), vs.data(), leading(n));
    }
    *b->result<int32_t>(sdimAt, i) = sdim;
    *b->result<int32_t>(sdimAt + 1, i) = info;
    b->store(0, i, a);
    b->store(1, i, vs);
  }
  return std::move(*b).finish();
}

/// a -> Hessenberg form with reflectors below, their factors, info.
template <typename T> Answer gehrd(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:nn -> T:nn T:k i:", typeOf<T>());
  Result<int64_t> low = call.integer("low"), high = call.integer("high");
  if (!b || !low || !high)
    return !b ? b.error() : !low ? low.error() : high.error();
  lapack_int n = b->size('n');
  if (b->size('k') != std::max(n - 1, 0) || *low < 1 || *high > std::max(n, 1) ||
      *low > std::max<int64_t>(*high, 1))
    return Error{"custom call @" + std::string(call.target) + " wants n - 1 factors and 1 <= low " +
                 "<= high <= n"};
  auto reduce = routine<T>(LAPACKE_sgehrd, LAPACKE_dgehrd, LAPACKE_cgehrd, LAPACKE_zgehrd);
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    *b->result<int32_t>(2, i) =
        n == 0 ? 0
               : reduce(LAPACK_COL_MAJOR, n, lapack_int(*low), lapack_int(*high), a.data(),
                        leading(n), b->result<T>(1, i));
    b->store(0, i, a);
  }
  return std::move(*b).finish();
}

/// a symmetric -> reflectors in its triangle, diagonal, off-diagonal, factors, info.
template <typename T> Answer sytrd(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:nn -> T:nn R:n R:k T:k i:", typeOf<T>());
  Result<int64_t> uplo = call.integer("uplo");
  if (!b || !uplo)
    return b ? uplo.error() : b.error();
  lapack_int n = b->size('n');
  if (b->size('k') != std::max(n - 1, 0))
    return Error{"custom call @" + std::string(call.target) + " wants n - 1 off-diagonal elements"};
  auto reduce = routine<T>(LAPACKE_ssytrd, LAPACKE_dsytrd, LAPACKE_chetrd, LAPACKE_zhetrd);
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    *b->result<int32_t>(4, i) =
        reduce(LAPACK_COL_MAJOR, char(*uplo), n, a.data(), leading(n), b->result<Real<T>>(1, i),
               b->result<Real<T>>(2, i), b->result<T>(3, i));
    b->store(0, i, a);
  }
  return std::move(*b).finish();
}

using F = float;
using D = double;
using C = std::complex<float>;
using Z = std::complex<double>;

} // namespace

void addEigenvalues(CallRegistry &registry) {
  addFamily(registry, "syevd", "heevd", syevd<F>, syevd<D>, syevd<C>, syevd<Z>);
  addFamily(registry, "geev", "geev", geev<F>, geev<D>, geev<C>, geev<Z>);
  addFamily(registry, "gees", "gees", gees<F>, gees<D>, gees<C>, gees<Z>);
  addFamily(registry, "gehrd", "gehrd", gehrd<F>, gehrd<D>, gehrd<C>, gehrd<Z>);
  addFamily(registry, "sytrd", "hetrd", sytrd<F>, sytrd<D>, sytrd<C>, sytrd<Z>);
}

} // namespace cupel::calls::lapack
