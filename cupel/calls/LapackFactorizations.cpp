// Cholesky, LU, QR (plain and pivoted) and what is done with QR's reflectors.

#include "cupel/calls/LapackCall.h"

namespace cupel::calls::lapack {

namespace {

using Answer = Result<std::vector<tensor::Tensor>>;

/// a -> its Cholesky factor in one triangle, info.
template <typename T> Answer potrf(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:nn -> T:nn i:", typeOf<T>());
  Result<int64_t> uplo = call.integer("uplo");
  if (!b || !uplo)
    return b ? uplo.error() : b.error();
  lapack_int n = b->size('n');
  auto factor = routine<T>(LAPACKE_spotrf, LAPACKE_dpotrf, LAPACKE_cpotrf, LAPACKE_zpotrf);
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    *b->result<int32_t>(1, i) = factor(LAPACK_COL_MAJOR, char(*uplo), n, a.data(), leading(n));
    b->store(0, i, a);
  }
  return std::move(*b).finish();
}

/// a -> L and U in one matrix, pivots from 1, info.
template <typename T> Answer getrf(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:mn -> T:mn i:k i:", typeOf<T>());
  if (!b)
    return b.error();
  lapack_int m = b->size('m'), n = b->size('n');
  if (b->size('k') != std::min(m, n))
    return Error{"custom call @" + std::string(call.target) + " wants min(m, n) pivots"};
  auto factor = routine<T>(LAPACKE_sgetrf, LAPACKE_dgetrf, LAPACKE_cgetrf, LAPACKE_zgetrf);
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    *b->result<int32_t>(2, i) =
        factor(LAPACK_COL_MAJOR, m, n, a.data(), leading(m), b->result<int32_t>(1, i));
    b->store(0, i, a);
  }
  return std::move(*b).finish();
}

/// a symmetric (Hermitian if asked) -> L and D in one triangle, pivots from 1, info.
template <typename T, bool hermitian> Answer sytrf(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:nn -> T:nn i:n i:", typeOf<T>());
  Result<int64_t> uplo = call.integer("uplo");
  if (!b || !uplo)
    return b ? uplo.error() : b.error();
  lapack_int n = b->size('n');
  auto factor = [&] {
    if constexpr (hermitian && isComplex<T>)
      return routine<T>(0, 0, LAPACKE_chetrf, LAPACKE_zhetrf);
    else
      return routine<T>(LAPACKE_ssytrf, LAPACKE_dsytrf, LAPACKE_csytrf, LAPACKE_zsytrf);
  }();
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    *b->result<int32_t>(2, i) =
        factor(LAPACK_COL_MAJOR, char(*uplo), n, a.data(), leading(n), b->result<int32_t>(1, i));
    b->store(0, i, a);
  }
  return std::move(*b).finish();
}

/// What sytrf gave, and right sides -> solutions, info.
template <typename T, bool hermitian> Answer sytrs(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:nn i:n T:nm -> T:nm i:", typeOf<T>());
  Result<int64_t> uplo = call.integer("uplo");
  if (!b || !uplo)
    return b ? uplo.error() : b.error();
  lapack_int n = b->size('n'), m = b->size('m');
  auto solve = [&] {
    if constexpr (hermitian && isComplex<T>)
      return routine<T>(0, 0, LAPACKE_chetrs, LAPACKE_zhetrs);
    else
      return routine<T>(LAPACKE_ssytrs, LAPACKE_dsytrs, LAPACKE_csytrs, LAPACKE_zsytrs);
  }();
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i), x = b->columns<T>(2, i);
    for (lapack_int k = 0; k < n; ++k) // LAPACK trusts pivots.
      if (int32_t pivot = b->operand<int32_t>(1, i)[k]; pivot == 0 || pivot > n || pivot < -n)
        return Error{"custom call @" + std::string(call.target) + " has a pivot beyond its matrix"};
    *b->result<int32_t>(1, i) = solve(LAPACK_COL_MAJOR, char(*uplo), n, m, a.data(), leading(n),
                                      b->operand<int32_t>(1, i), x.data(), leading(n));
    b->store(0, i, x);
  }
  return std::move(*b).finish();
}

/// a -> R above, reflectors below the diagonal, and their factors.
template <typename T> Answer geqrf(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:mn -> T:mn T:k", typeOf<T>());
  if (!b)
    return b.error();
  lapack_int m = b->size('m'), n = b->size('n');
  if (b->size('k') != std::min(m, n))
    return Error{"custom call @" + std::string(call.target) + " wants min(m, n) factors"};
  auto factor = routine<T>(LAPACKE_sgeqrf, LAPACKE_dgeqrf, LAPACKE_cgeqrf, LAPACKE_zgeqrf);
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    if (factor(LAPACK_COL_MAJOR, m, n, a.data(), leading(m), b->result<T>(1, i)) != 0)
      return Error{"LAPACK refused the arguments of geqrf"};
    b->store(0, i, a);
  }
  return std::move(*b).finish();
}

/// As geqrf, with columns exchanged: pivots from 1; a column that is not 0 on entry stays in front.
template <typename T> Answer geqp3(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:mn i:n -> T:mn i:n T:k", typeOf<T>());
  if (!b)
    return b.error();
  lapack_int m = b->size('m'), n = b->size('n');
  if (b->size('k') != std::min(m, n))
    return Error{"custom call @" + std::string(call.target) + " wants min(m, n) factors"};
  auto factor = routine<T>(LAPACKE_sgeqp3, LAPACKE_dgeqp3, LAPACKE_cgeqp3, LAPACKE_zgeqp3);
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    std::copy_n(b->operand<int32_t>(1, i), n, b->result<int32_t>(1, i));
    if (factor(LAPACK_COL_MAJOR, m, n, a.data(), leading(m), b->result<int32_t>(1, i),
               b->result<T>(2, i)) != 0)
      return Error{"LAPACK refused the arguments of geqp3"};
    b->store(0, i, a);
  }
  return std::move(*b).finish();
}

/// Reflectors and factors -> the first n columns of Q.
template <typename T> Answer orgqr(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:mn T:k -> T:mn", typeOf<T>());
  if (!b)
    return b.error();
  lapack_int m = b->size('m'), n = b->size('n'), k = b->size('k');
  if (n > m || k > n)
    return Error{"custom call @" + std::string(call.target) + " wants m >= n >= k, but they are " +
                 std::to_string(m) + ", " + std::to_string(n) + " and " + std::to_string(k)};
  auto product = routine<T>(LAPACKE_sorgqr, LAPACKE_dorgqr, LAPACKE_cungqr, LAPACKE_zungqr);
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i);
    if (product(LAPACK_COL_MAJOR, m, n, k, a.data(), leading(m), b->operand<T>(1, i)) != 0)
      return Error{"LAPACK refused the arguments of orgqr"};
    b->store(0, i, a);
  }
  return std::move(*b).finish();
}

/// Reflectors, factors, c -> Q c, c Q, or with Q's adjoint.
template <typename T> Answer ormqr(const CustomCall &call) {
  Result<Batches> b = Batches::open(call, "T:pq T:k T:mn -> T:mn", typeOf<T>());
  Result<int64_t> left = call.integer("left"), transpose = call.integer("transpose");
  if (!b || !left || !transpose)
    return !b ? b.error() : !left ? left.error() : transpose.error();
  lapack_int m = b->size('m'), n = b->size('n'), k = b->size('k'), p = b->size('p');
  if (p != (*left ? m : n) || k > p || k > b->size('q'))
    return Error{"custom call @" + std::string(call.target) + " has reflectors that do not fit"};
  auto multiply = routine<T>(LAPACKE_sormqr, LAPACKE_dormqr, LAPACKE_cunmqr, LAPACKE_zunmqr);
  char adjoint = isComplex<T> ? 'C' : 'T';
  for (int64_t i = 0; i < b->count(); ++i) {
    std::vector<T> a = b->columns<T>(0, i), c = b->columns<T>(2, i);
    if (multiply(LAPACK_COL_MAJOR, *left ? 'L' : 'R', *transpose ? adjoint : 'N', m, n, k, a.data(),
                 leading(p), b->operand<T>(1, i), c.data(), leading(m)) != 0)
      return Error{"LAPACK refused the arguments of ormqr"};
    b->store(0, i, c);
  }
  return std::move(*b).finish();
}

/// The platform-independent calls carry no type in their name.
template <Plain s, Plain d, Plain c, Plain z> Answer byType(const CustomCall &call) {
  switch (call.operands.empty() ? tensor::DType::I1 : call.operands[0].dtype()) {
  case tensor::DType::F32:
    return s(call);
  case tensor::DType::F64:
    return d(call);
  case tensor::DType::C64:
    return c(call);
  case tensor::DType::C128:
    return z(call);
  default:
    return Error{"custom call @" + std::string(call.target) +
                 " wants an operand of f32, f64, complex<f32> or complex<f64>"};
  }
}

using F = float;
using D = double;
using C = std::complex<float>;
using Z = std::complex<double>;

} // namespace

void addFactorizations(CallRegistry &registry) {
  addFamily(registry, "potrf", "potrf", potrf<F>, potrf<D>, potrf<C>, potrf<Z>);
  addFamily(registry, "getrf", "getrf", getrf<F>, getrf<D>, getrf<C>, getrf<Z>);
  addFamily(registry, "geqrf", "geqrf", geqrf<F>, geqrf<D>, geqrf<C>, geqrf<Z>);
  addFamily(registry, "geqp3", "geqp3", geqp3<F>, geqp3<D>, geqp3<C>, geqp3<Z>);
  addFamily(registry, "orgqr", "ungqr", orgqr<F>, orgqr<D>, orgqr<C>, orgqr<Z>);
  addFamily(registry, "ormqr", "unmqr", ormqr<F>, ormqr<D>, ormqr<C>, ormqr<Z>);
  addFamily(registry, "sytrf", "sytrf", sytrf<F, false>, sytrf<D, false>, sytrf<C, false>,
            sytrf<Z, false>);
  addFamily(registry, "sytrs", "sytrs", sytrs<F, false>, sytrs<D, false>, sytrs<C, false>,
            sytrs<Z, false>);
  // Real numbers have the same routine under both names.
  addFamily(registry, "hetrf", "hetrf", sytrf<F, true>, sytrf<D, true>, sytrf<C, true>,
            sytrf<Z, true>);
  addFamily(registry, "hetrs", "hetrs", sytrs<F, true>, sytrs<D, true>, sytrs<C, true>,
            sytrs<Z, true>);
  Status qr = registry.add("Qr", byType<geqrf<F>, geqrf<D>, geqrf<C>, geqrf<Z>>);
  Status product = registry.add("ProductOfElementaryHouseholderReflectors",
                                byType<orgqr<F>, orgqr<D>, orgqr<C>, orgqr<Z>>);
  assert(qr && product);
  (void)qr, (void)product;
}

} // namespace cupel::calls::lapack
