// Every family is tested by what it promises (A = QR, A v = w v, ...) on random matrices of each
// element type, never by stored numbers.

#include "cupel/calls/LapackCall.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace cupel;
using namespace cupel::calls;
using namespace cupel::calls::lapack;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace {

/// A row-major matrix for the arithmetic of the tests.
template <typename T> struct Matrix {
  int64_t rows, cols;
  std::vector<T> data;
  Matrix(int64_t rows, int64_t cols) : rows(rows), cols(cols), data(rows * cols) {}
  T &operator()(int64_t r, int64_t c) { return data[r * cols + c]; }
  const T &operator()(int64_t r, int64_t c) const { return data[r * cols + c]; }
};

template <typename T> Matrix<T> operator*(const Matrix<T> &a, const Matrix<T> &b) {
  Matrix<T> product(a.rows, b.cols);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.cols; ++j)
      for (int64_t k = 0; k < a.cols; ++k)
        product(i, j) += a(i, k) * b(k, j);
  return product;
}

template <typename T> Matrix<T> adjoint(const Matrix<T> &a) {
  Matrix<T> result(a.cols, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.cols; ++j) {
      if constexpr (isComplex<T>)
        result(j, i) = std::conj(a(i, j));
      else
        result(j, i) = a(i, j);
    }
  return result;
}

template <typename T> Real<T> distance(const Matrix<T> &a, const Matrix<T> &b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  Real<T> worst = 0;
  for (size_t i = 0; i < a.data.size(); ++i)
    worst = std::max(worst, std::abs(a.data[i] - b.data[i]));
  return worst;
}

template <typename T> class LapackTest : public testing::Test {
protected:
  static constexpr Real<T> kTolerance = std::is_same_v<Real<T>, float> ? 2e-4f : 1e-11;
  std::mt19937 random{7};

  T element() {
    std::normal_distribution<Real<T>> normal;
    if constexpr (isComplex<T>) {
      Real<T> re = normal(random);
      return T(re, normal(random));
    } else {
      return normal(random);
    }
  }
  Matrix<T> matrix(int64_t rows, int64_t cols) {
    Matrix<T> m(rows, cols);
    for (T &value : m.data)
      value = element();
    return m;
  }
  Matrix<T> hermitian(int64_t n) {
    Matrix<T> a = matrix(n, n), b = adjoint(a), sum(n, n);
    for (size_t i = 0; i < sum.data.size(); ++i)
      sum.data[i] = a.data[i] + b.data[i];
    return sum;
  }

  static Tensor tensorOf(const std::vector<Matrix<T>> &stack) {
    Shape shape = {stack[0].rows, stack[0].cols};
    if (stack.size() > 1)
      shape.insert(shape.begin(), stack.size());
    Tensor made = std::move(*Tensor::uninitialized(typeOf<T>(), shape));
    T *to = made.mutableAs<T>();
    for (const Matrix<T> &m : stack)
      to = std::copy(m.data.begin(), m.data.end(), to);
    return made;
  }
  template <typename U = T>
  static Matrix<U> matrixOf(const Tensor &tensor, int64_t rows, int64_t cols, int64_t piece = 0) {
    Matrix<U> m(rows, cols);
    std::copy_n(tensor.dataAs<U>() + piece * rows * cols, rows * cols, m.data.begin());
    return m;
  }

  static std::string target(std::string_view real, std::string_view complex = "") {
    char letter = routine<T>('s', 'd', 'c', 'z');
    return std::string("lapack_") + letter +
           std::string(isComplex<T> && !complex.empty() ? complex : real) + "_ffi";
  }

  using Attributes = std::vector<std::pair<std::string, int64_t>>;
  static Result<std::vector<Tensor>> call(const std::string &target, std::vector<Tensor> operands,
                                          std::vector<CallType> results,
                                          const Attributes &attributes = {}) {
    CallAttributes map;
    for (const auto &[name, value] : attributes) {
      CallScalar scalar;
      scalar.type = DType::I64;
      std::memcpy(scalar.bits, &value, sizeof value);
      map[name].value = scalar;
    }
    auto handler = CallRegistry::get().find(target);
    if (!handler)
      return Error{"no handler of " + target};
    return (*handler)(CustomCall{target, operands, results, map, {}, {}, {}, {}});
  }
  static constexpr DType kType = typeOf<T>();
  static constexpr DType kReal = typeOf<Real<T>>();
  static constexpr DType kComplex = typeOf<Complex<T>>();
};

using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LapackTest, Types);

TYPED_TEST(LapackTest, CholeskyOfAStack) {
  using T = TypeParam;
  std::vector<Matrix<T>> stack;
  for (int i = 0; i < 3; ++i) {
    Matrix<T> a = this->matrix(4, 4), positive = a * adjoint(a);
    for (int d = 0; d < 4; ++d)
      positive(d, d) += T(1);
    stack.push_back(positive);
  }
  auto results = this->call(this->target("potrf"), {this->tensorOf(stack)},
                            {{this->kType, {3, 4, 4}}, {DType::I32, {3}}}, {{"uplo", 'L'}});
  ASSERT_TRUE(results) << results.message();
  for (int i = 0; i < 3; ++i) {
    Matrix<T> l = this->matrixOf((*results)[0], 4, 4, i);
    for (int r = 0; r < 4; ++r)
      for (int c = r + 1; c < 4; ++c)
        l(r, c) = 0;
    EXPECT_LT(distance(l * adjoint(l), stack[i]), this->kTolerance);
    EXPECT_EQ((*results)[1].template dataAs<int32_t>()[i], 0);
  }
}

TYPED_TEST(LapackTest, CholeskySaysWhereItFailed) {
  using T = TypeParam;
  Matrix<T> a(2, 2);
  a(0, 0) = 1, a(1, 1) = -1;
  auto results = this->call(this->target("potrf"), {this->tensorOf({a})},
                            {{this->kType, {2, 2}}, {DType::I32, {}}}, {{"uplo", 'L'}});
  ASSERT_TRUE(results) << results.message();
  EXPECT_EQ(*(*results)[1].template dataAs<int32_t>(), 2);
}

TYPED_TEST(LapackTest, LuOfTallAndWide) {
  using T = TypeParam;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 3}, {3, 5}, {4, 4}}) {
    int64_t k = std::min(m, n);
    Matrix<T> a = this->matrix(m, n);
    auto results = this->call(this->target("getrf"), {this->tensorOf({a})},
                              {{this->kType, {m, n}}, {DType::I32, {k}}, {DType::I32, {}}});
    ASSERT_TRUE(results) << results.message();
    Matrix<T> lu = this->matrixOf((*results)[0], m, n), l(m, k), u(k, n);
    for (int64_t r = 0; r < m; ++r)
      for (int64_t c = 0; c < n; ++c)
        if (r > c)
          l(r, c) = lu(r, c);
        else
          u(r, c) = lu(r, c);
    for (int64_t i = 0; i < k; ++i)
      l(i, i) = 1;
    Matrix<T> exchanged = a;
    for (int64_t i = 0; i < k; ++i) {
      int64_t with = (*results)[1].template dataAs<int32_t>()[i] - 1;
      for (int64_t c = 0; c < n; ++c)
        std::swap(exchanged(i, c), exchanged(with, c));
    }
    EXPECT_LT(distance(l * u, exchanged), this->kTolerance);
  }
}

TYPED_TEST(LapackTest, QrAndItsReflectors) {
  using T = TypeParam;
  Matrix<T> a = this->matrix(5, 3), c = this->matrix(5, 2);
  for (std::string name : {this->target("geqrf"), std::string("Qr")}) {
    auto qr = this->call(name, {this->tensorOf({a})}, {{this->kType, {5, 3}}, {this->kType, {3}}});
    ASSERT_TRUE(qr) << qr.message();
    Matrix<T> packed = this->matrixOf((*qr)[0], 5, 3), r(3, 3);
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j)
        r(i, j) = packed(i, j);
    std::string product =
        name == "Qr" ? "ProductOfElementaryHouseholderReflectors" : this->target("orgqr", "ungqr");
    auto q = this->call(product, {(*qr)[0], (*qr)[1]}, {{this->kType, {5, 3}}});
    ASSERT_TRUE(q) << q.message();
    Matrix<T> thin = this->matrixOf((*q)[0], 5, 3);
    EXPECT_LT(distance(thin * r, a), this->kTolerance);

    // Q^H c from the reflectors starts with the thin Q's share of it.
    auto applied =
        this->call(this->target("ormqr", "unmqr"), {(*qr)[0], (*qr)[1], this->tensorOf({c})},
                   {{this->kType, {5, 2}}}, {{"left", 1}, {"transpose", 1}});
    ASSERT_TRUE(applied) << applied.message();
    Matrix<T> share = adjoint(thin) * c, whole = this->matrixOf((*applied)[0], 5, 2), top(3, 2);
    std::copy_n(whole.data.begin(), 6, top.data.begin());
    EXPECT_LT(distance(top, share), this->kTolerance);
  }
}

TYPED_TEST(LapackTest, PivotedQrOrdersTheDiagonal) {
  using T = TypeParam;
  Matrix<T> a = this->matrix(4, 4);
  Tensor free = std::move(*Tensor::zeros(DType::I32, {4}));
  auto results = this->call(this->target("geqp3"), {this->tensorOf({a}), free},
                            {{this->kType, {4, 4}}, {DType::I32, {4}}, {this->kType, {4}}});
  ASSERT_TRUE(results) << results.message();
  Matrix<T> packed = this->matrixOf((*results)[0], 4, 4), r(4, 4), permuted(4, 4);
  for (int i = 0; i < 4; ++i)
    for (int j = i; j < 4; ++j)
      r(i, j) = packed(i, j);
  for (int i = 1; i < 4; ++i)
    EXPECT_LE(std::abs(r(i, i)), std::abs(r(i - 1, i - 1)) * Real<T>(1.0001));
  auto q = this->call(this->target("orgqr", "ungqr"), {(*results)[0], (*results)[2]},
                      {{this->kType, {4, 4}}});
  ASSERT_TRUE(q) << q.message();
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 4; ++i)
      permuted(i, j) = a(i, (*results)[1].template dataAs<int32_t>()[j] - 1);
  EXPECT_LT(distance(this->matrixOf((*q)[0], 4, 4) * r, permuted), this->kTolerance);
}

TYPED_TEST(LapackTest, EigenvaluesOfHermitian) {
  using T = TypeParam;
  Matrix<T> a = this->hermitian(5);
  auto results = this->call(this->target("syevd", "heevd"), {this->tensorOf({a})},
                            {{this->kType, {5, 5}}, {this->kReal, {5}}, {DType::I32, {}}},
                            {{"mode", 'V'}, {"uplo", 'L'}});
  ASSERT_TRUE(results) << results.message();
  Matrix<T> v = this->matrixOf((*results)[0], 5, 5), scaled = v;
  const Real<T> *w = (*results)[1].template dataAs<Real<T>>();
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 5; ++c)
      scaled(r, c) *= w[c];
  EXPECT_LT(distance(a * v, scaled), this->kTolerance);
  EXPECT_TRUE(std::is_sorted(w, w + 5));
}

TYPED_TEST(LapackTest, GeneralEigenvectors) {
  using T = TypeParam;
  using C = Complex<T>;
  Matrix<T> a = this->matrix(5, 5);
  std::vector<CallType> types = {{this->kType, {5}}};
  if (!isComplex<T>)
    types.push_back({this->kType, {5}});
  types.insert(types.end(), {{this->kComplex, {5, 5}}, {this->kComplex, {5, 5}}, {DType::I32, {}}});
  auto results = this->call(this->target("geev"), {this->tensorOf({a})}, types,
                            {{"compute_left", 'V'}, {"compute_right", 'V'}});
  ASSERT_TRUE(results) << results.message();
  size_t at = isComplex<T> ? 1 : 2;
  Matrix<C> wide(5, 5);
  std::copy(a.data.begin(), a.data.end(), wide.data.begin());
  Matrix<C> left = this->template matrixOf<C>((*results)[at], 5, 5);
  Matrix<C> right = this->template matrixOf<C>((*results)[at + 1], 5, 5);
  Matrix<C> w(5, 5);
  for (int i = 0; i < 5; ++i) {
    if constexpr (isComplex<T>)
      w(i, i) = (*results)[0].template dataAs<T>()[i];
    else
      w(i, i) = C((*results)[0].template dataAs<T>()[i], (*results)[1].template dataAs<T>()[i]);
  }
  EXPECT_LT(distance(wide * right, right * w), this->kTolerance);
  EXPECT_LT(distance(adjoint(left) * wide, w * adjoint(left)), this->kTolerance);
}

TYPED_TEST(LapackTest, EigenvaluesOfNanEndWithAnInfo) {
  using T = TypeParam;
  Matrix<T> a = this->matrix(3, 3);
  a(1, 1) = std::numeric_limits<Real<T>>::quiet_NaN();
  std::vector<CallType> types = {{this->kType, {3}}};
  if (!isComplex<T>)
    types.push_back({this->kType, {3}});
  types.insert(types.end(), {{this->kComplex, {3, 3}}, {this->kComplex, {3, 3}}, {DType::I32, {}}});
  auto results = this->call(this->target("geev"), {this->tensorOf({a})}, types,
                            {{"compute_left", 'N'}, {"compute_right", 'V'}});
  ASSERT_TRUE(results) << results.message();
  EXPECT_NE(*results->back().template dataAs<int32_t>(), 0);
}

TYPED_TEST(LapackTest, SchurForm) {
  using T = TypeParam;
  Matrix<T> a = this->matrix(4, 4);
  std::vector<CallType> types = {{this->kType, {4, 4}}, {this->kType, {4, 4}}, {this->kType, {4}}};
  if (!isComplex<T>)
    types.push_back({this->kType, {4}});
  types.insert(types.end(), {{DType::I32, {}}, {DType::I32, {}}});
  auto results = this->call(this->target("gees"), {this->tensorOf({a})}, types,
                            {{"mode", 'V'}, {"sort", 'N'}});
  ASSERT_TRUE(results) << results.message();
  Matrix<T> t = this->matrixOf((*results)[0], 4, 4), z = this->matrixOf((*results)[1], 4, 4);
  EXPECT_LT(distance(z * t * adjoint(z), a), this->kTolerance);
  for (int c = 0; c < 4; ++c)
    for (int r = c + 2; r < 4; ++r)
      EXPECT_EQ(t(r, c), T(0));
}

TYPED_TEST(LapackTest, HessenbergAndTridiagonalKeepTheTrace) {
  using T = TypeParam;
  Matrix<T> a = this->hermitian(4);
  T trace = a(0, 0) + a(1, 1) + a(2, 2) + a(3, 3);
  auto h = this->call(this->target("gehrd"), {this->tensorOf({a})},
                      {{this->kType, {4, 4}}, {this->kType, {3}}, {DType::I32, {}}},
                      {{"low", 1}, {"high", 4}});
  ASSERT_TRUE(h) << h.message();
  Matrix<T> form = this->matrixOf((*h)[0], 4, 4);
  EXPECT_LT(std::abs(form(0, 0) + form(1, 1) + form(2, 2) + form(3, 3) - trace), this->kTolerance);
  auto d = this->call(this->target("sytrd", "hetrd"), {this->tensorOf({a})},
                      {{this->kType, {4, 4}},
                       {this->kReal, {4}},
                       {this->kReal, {3}},
                       {this->kType, {3}},
                       {DType::I32, {}}},
                      {{"uplo", 'L'}});
  ASSERT_TRUE(d) << d.message();
  const Real<T> *diagonal = (*d)[1].template dataAs<Real<T>>();
  EXPECT_LT(std::abs(diagonal[0] + diagonal[1] + diagonal[2] + diagonal[3] - std::real(trace)),
            this->kTolerance);
}

TYPED_TEST(LapackTest, SingularValuesInEveryMode) {
  using T = TypeParam;
  for (const char *name : {"gesdd", "gesvd"})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 3}, {3, 5}}) {
      Matrix<T> a = this->matrix(m, n);
      int64_t k = std::min(m, n);
      std::vector<Real<T>> first;
      for (char mode : {'A', 'S', 'N'}) {
        int64_t u = mode == 'A' ? m : k, v = mode == 'A' ? n : k;
        auto results = this->call(this->target(name), {this->tensorOf({a})},
                                  {{this->kType, {m, n}},
                                   {this->kReal, {k}},
                                   {this->kType, {m, u}},
                                   {this->kType, {v, n}},
                                   {DType::I32, {}}},
                                  {{"mode", mode}});
        ASSERT_TRUE(results) << results.message();
        const Real<T> *s = (*results)[1].template dataAs<Real<T>>();
        if (mode == 'N') {
          for (int64_t i = 0; i < k; ++i)
            EXPECT_NEAR(s[i], first[i], this->kTolerance);
          continue;
        }
        first.assign(s, s + k);
        Matrix<T> sigma(u, v);
        for (int64_t i = 0; i < k; ++i)
          sigma(i, i) = s[i];
        EXPECT_LT(distance(this->matrixOf((*results)[2], m, u) * sigma *
                               this->matrixOf((*results)[3], v, n),
                           a),
                  this->kTolerance);
      }
    }
}

TYPED_TEST(LapackTest, TriangularSystems) {
  using T = TypeParam;
  Matrix<T> a = this->matrix(3, 3), b = this->matrix(3, 2), lower = a;
  for (int i = 0; i < 3; ++i) {
    a(i, i) += T(4);
    lower(i, i) = a(i, i);
    for (int j = i + 1; j < 3; ++j)
      lower(i, j) = 0;
  }
  auto x = this->call(this->target("trsm"), {this->tensorOf({a}), this->tensorOf({b})},
                      {{this->kType, {3, 2}}},
                      {{"side", 'L'}, {"uplo", 'L'}, {"trans_x", 'C'}, {"diag", 'N'}});
  ASSERT_TRUE(x) << x.message();
  EXPECT_LT(distance(adjoint(lower) * this->matrixOf((*x)[0], 3, 2), b), this->kTolerance);
}

TYPED_TEST(LapackTest, TridiagonalSystems) {
  using T = TypeParam;
  Matrix<T> diagonals = this->matrix(3, 4), b = this->matrix(4, 2), a(4, 4);
  for (int i = 0; i < 4; ++i) {
    diagonals(1, i) += T(5);
    a(i, i) = diagonals(1, i);
    if (i > 0)
      a(i, i - 1) = diagonals(0, i);
    if (i < 3)
      a(i, i + 1) = diagonals(2, i);
  }
  std::vector<Tensor> operands;
  for (int d = 0; d < 3; ++d) {
    Matrix<T> row(1, 4);
    std::copy_n(&diagonals(d, 0), 4, row.data.begin());
    operands.push_back(this->tensorOf({row}).reshaped({4}));
  }
  operands.push_back(this->tensorOf({b}));
  CallType vector{this->kType, {4}}, matrix{this->kType, {4, 2}};
  auto x = this->call(this->target("gtsv"), operands,
                      {vector, vector, vector, matrix, {DType::I32, {}}});
  ASSERT_TRUE(x) << x.message();
  EXPECT_LT(distance(a * this->matrixOf((*x)[3], 4, 2), b), this->kTolerance);
  auto y = this->call("tridiagonal_solve_perturbed_ffi", operands, {matrix});
  ASSERT_TRUE(y) << y.message();
  EXPECT_LT(distance(a * this->matrixOf((*y)[0], 4, 2), b), this->kTolerance);
}

TYPED_TEST(LapackTest, TridiagonalSystemsWithRowExchanges) {
  // A zero on the diagonal is no singular system: rows change places.
  using T = TypeParam;
  Matrix<T> a(5, 5), b = this->matrix(5, 2);
  std::vector<Matrix<T>> diagonals(3, Matrix<T>(1, 5));
  for (int i = 0; i < 5; ++i) {
    T off = T(Real<T>(i + 2));
    diagonals[1](0, i) = a(i, i) = i == 2 ? T(7) : T(0);
    if (i > 0)
      diagonals[0](0, i) = a(i, i - 1) = off;
    if (i < 4)
      diagonals[2](0, i) = a(i, i + 1) = -off;
  }
  std::vector<Tensor> operands;
  for (const Matrix<T> &diagonal : diagonals)
    operands.push_back(this->tensorOf({diagonal}).reshaped({5}));
  operands.push_back(this->tensorOf({b}));
  CallType matrix{this->kType, {5, 2}};
  auto y = this->call("tridiagonal_solve_perturbed_ffi", operands, {matrix});
  ASSERT_TRUE(y) << y.message();
  EXPECT_LT(distance(a * this->matrixOf((*y)[0], 5, 2), b), 10 * this->kTolerance);
}

TYPED_TEST(LapackTest, SingularTridiagonalSystemsHaveFiniteSolutions) {
  using T = TypeParam;
  for (Real<T> diagonal : {Real<T>(0), Real<T>(1)}) {
    Matrix<T> row(1, 4);
    for (int i = 0; i < 4; ++i)
      row(0, i) = T(diagonal);
    Tensor d = this->tensorOf({row}).reshaped({4});
    CallType matrix{this->kType, {4, 2}};
    auto y = this->call("tridiagonal_solve_perturbed_ffi",
                        {d, d, d, this->tensorOf({this->matrix(4, 2)})}, {matrix});
    ASSERT_TRUE(y) << y.message();
    for (const T &value : this->matrixOf((*y)[0], 4, 2).data)
      EXPECT_TRUE(std::isfinite(std::abs(value)));
  }
}

TYPED_TEST(LapackTest, EmptyMatricesAreFine) {
  Tensor empty = std::move(*Tensor::zeros(this->kType, {2, 0, 0}));
  auto results = this->call(this->target("syevd", "heevd"), {empty},
                            {{this->kType, {2, 0, 0}}, {this->kReal, {2, 0}}, {DType::I32, {2}}},
                            {{"mode", 'V'}, {"uplo", 'L'}});
  ASSERT_TRUE(results) << results.message();
}

TYPED_TEST(LapackTest, RefusesCallsThatDoNotFit) {
  Tensor square = std::move(*Tensor::zeros(this->kType, {2, 2}));
  std::string potrf = this->target("potrf");
  CallType matrix{this->kType, {2, 2}}, info{DType::I32, {}};
  auto message = [&](std::vector<Tensor> operands, std::vector<CallType> results,
                     std::vector<std::pair<std::string, int64_t>> attributes) {
    auto answer = this->call(potrf, operands, results, attributes);
    return answer ? std::string("no error") : answer.message();
  };
  EXPECT_NE(message({}, {matrix, info}, {{"uplo", 'L'}}).find("0 operands"), std::string::npos);
  EXPECT_NE(message({square}, {matrix, info}, {}).find("'uplo'"), std::string::npos);
  EXPECT_NE(message({square}, {{this->kType, {2, 3}}, info}, {{"uplo", 'L'}}).find("disagree"),
            std::string::npos);
  EXPECT_NE(message({square}, {matrix, {DType::I64, {}}}, {{"uplo", 'L'}}).find("i64"),
            std::string::npos);
}

TEST(CallRegistry, TellsWhoAnswers) {
  CallRegistry &registry = CallRegistry::get();
  EXPECT_EQ(registry.find("nobody"), nullptr);
  EXPECT_GE(registry.names().size(), 60u);
  EXPECT_FALSE(registry.add(
      "Qr", [](const CustomCall &) -> Result<std::vector<Tensor>> { return Error{"never"}; }));
}

} // namespace
