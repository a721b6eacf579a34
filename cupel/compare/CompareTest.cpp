// Statistics against values worked out by hand, for every kind of element type.

#include "cupel/compare/Compare.h"

#include "cupel/compare/TestTensors.h"

#include <limits>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

namespace {

TEST(Compare, SumsByHand) {
  // actual - expected = (0, 1, -2, 0); |expected|^2 = 30; deviations of expected 5, of
  // actual 10.75.
  Statistics s = measure(vectorOf(DType::F32, {1, 3, 1, 4}), vectorOf(DType::F32, {1, 2, 3, 4}));
  EXPECT_DOUBLE_EQ(s.relativeL2, std::sqrt(5.0 / 30));
  // means 2.25 and 2.5: sums of squares 6.75 and 5, of products 3.5
  EXPECT_DOUBLE_EQ(s.pcc, 3.5 / std::sqrt(6.75 * 5));
  EXPECT_DOUBLE_EQ(s.cosine, 26 / std::sqrt(27.0 * 30));
  EXPECT_EQ(s.maxError, 2);
  EXPECT_DOUBLE_EQ(s.maxRelativeError, 2.0 / 3);
  EXPECT_EQ(s.different, 2);
  EXPECT_EQ(s.firstMismatches, (std::vector<int64_t>{1, 2}));
  ASSERT_EQ(s.worst.size(), 2u);
  EXPECT_EQ(s.worst[0].position, 2);
  EXPECT_EQ(s.worst[0].actual, "1");
  EXPECT_EQ(s.worst[0].expected, "3");
  EXPECT_EQ(s.pccState, PccState::Measured);
}

TEST(Compare, AllcloseIsAsymmetricAndInclusive) {
  Tensor e = vectorOf(DType::F64, {100, 0, -8});
  // 0.25 + 0.125 * |expected| allows exactly 12.75, 0.25 and 1.25
  Tolerance tolerance = Tolerance::allclose(0.125, 0.25);
  EXPECT_EQ(measure(vectorOf(DType::F64, {112.75, -0.25, -9.25}), e, tolerance).mismatches, 0);
  EXPECT_EQ(
      measure(vectorOf(DType::F64, {112.75 + 1e-12, -0.2500001, -9.3}), e, tolerance).mismatches,
      3);
}

TEST(Compare, WorstIsRankedByWhatExceedsTheTolerance) {
  // 110 is 10 off but within rtol; 1.5 is only 0.5 off but is the one that misses.
  Statistics s = measure(vectorOf(DType::F32, {110, 1.5}), vectorOf(DType::F32, {100, 1}),
                         Tolerance::allclose(0.2, 0));
  EXPECT_EQ(s.mismatches, 1);
  EXPECT_EQ(s.worst.at(0).position, 1);
  EXPECT_EQ(s.maxError, 10);
}

TEST(Compare, IntegersAreExact) {
  int64_t big = (int64_t{1} << 62) + 1;
  Statistics s = measure(Tensor::of<DType::I64>({3}, {big, INT64_MIN, INT64_MAX}),
                         Tensor::of<DType::I64>({3}, {big + 1, INT64_MIN, INT64_MAX - 1}));
  EXPECT_EQ(s.different, 2);
  EXPECT_EQ(s.maxError, 1);
  EXPECT_EQ(s.worst.at(0).actual, "4611686018427387905");
  EXPECT_EQ(s.worst.at(0).expected, "4611686018427387906");
  s = measure(Tensor::of<DType::U64>({2}, {UINT64_MAX, 1}),
              Tensor::of<DType::U64>({2}, {UINT64_MAX - 1, 1}));
  EXPECT_EQ(s.different, 1);
  EXPECT_EQ(s.maxError, 1);
  // Mixed: -1 is not 2^64 - 1, and 2^53 + 1 is not the double 2^53.
  EXPECT_EQ(measure(Tensor::of<DType::I64>({1}, {-1}), Tensor::of<DType::U64>({1}, {UINT64_MAX}))
                .different,
            1);
  EXPECT_EQ(
      measure(Tensor::of<DType::I64>({1}, {(int64_t{1} << 53) + 1}), vectorOf(DType::F64, {0x1p53}))
          .maxError,
      1);
  EXPECT_EQ(
      measure(Tensor::of<DType::I8>({2}, {-1, 3}), Tensor::of<DType::I64>({2}, {-1, 3})).different,
      0);
}

TEST(Compare, EveryTypeAgainstEveryType) {
  // 0 and 1 exist in all of them but one.
  for (int a = 0; a < kDTypeCount; ++a)
    for (int b = 0; b < kDTypeCount; ++b) {
      Values same{0, 1, 1, 0, 1}, other{0, 1, 1, 1, 1};
      // The one without zero.
      if (static_cast<DType>(a) == DType::F8E8M0FNU || static_cast<DType>(b) == DType::F8E8M0FNU)
        continue;
      Tensor x = vectorOf(static_cast<DType>(a), same), y = vectorOf(static_cast<DType>(b), same);
      Tensor z = vectorOf(static_cast<DType>(b), other);
      Options options{.ulp = true};
      Statistics equal = measure(x, y, {}, options), unequal = measure(x, z, {}, options);
      EXPECT_EQ(equal.different, 0) << a << " " << b;
      EXPECT_EQ(equal.ulp->max, 0u) << a << " " << b;
      EXPECT_EQ(unequal.different, 1) << a << " " << b;
      EXPECT_EQ(unequal.maxError, 1) << a << " " << b;
      EXPECT_EQ(unequal.firstMismatches, std::vector<int64_t>{3}) << a << " " << b;
      EXPECT_GT(unequal.ulp->max, 0u) << a << " " << b;
    }
}

TEST(Compare, ComplexElementsAreJudgedByBothParts) {
  Tensor a = Tensor::of<DType::C64>({3}, {{1, 2}, {3, 4}, {5, 6}});
  Tensor b = Tensor::of<DType::C64>({3}, {{1, 2}, {3, 4.5}, {5.25, 6.25}});
  Statistics s = measure(a, b, Tolerance::almostEqual(0.3));
  EXPECT_EQ(s.count, 3);
  EXPECT_EQ(s.different, 2);
  EXPECT_EQ(s.mismatches, 1);
  EXPECT_EQ(s.maxError, 0.5);
  EXPECT_EQ(s.worst.at(0).actual, "(3, 4)");
  EXPECT_EQ(s.worst.at(0).expected, "(3, 4.5)");
  EXPECT_EQ(measure(a, a).different, 0);
  // A real tensor is a complex one without imaginary parts.
  EXPECT_EQ(measure(Tensor::of<DType::C64>({2}, {{1, 0}, {2, 1}}), vectorOf(DType::F32, {1, 2}))
                .different,
            1);
  EXPECT_EQ(
      measure(Tensor::of<DType::I64>({2}, {1, 2}), Tensor::of<DType::C128>({2}, {{1, 0}, {2, 1}}))
          .different,
      1);
}

TEST(Compare, AllcloseBoundsTheModulusOfComplexElements) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  // What numpy.isclose and torch.isclose say at rtol 1e-3, atol 0: a small part beside a large one
  // may be off by more than its own thousandth.
  Tensor expected =
      Tensor::of<DType::C128>({5}, {{0, 100}, {0, 100}, {3, 4}, {3, 4}, {1e200, 1e200}});
  Tensor actual = Tensor::of<DType::C128>(
      {5}, {{0.09, 100}, {0.11, 100}, {3.0025, 4.0035}, {3.004, 4.004}, {1.0005e200, 1e200}});
  Tolerance close = Tolerance::allclose(1e-3, 0);
  Statistics s = measure(actual, expected, close);
  EXPECT_EQ(s.firstMismatches, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(s.mismatches, 2);
  close.complex = ComplexPolicy::Parts;
  EXPECT_EQ(measure(actual, expected, close).firstMismatches, (std::vector<int64_t>{0, 1, 3}));
  // The distance is longer than either of its sides.
  Tensor zero = Tensor::of<DType::C64>({1}, {{0, 0}}),
         corner = Tensor::of<DType::C64>({1}, {{3, 4}});
  EXPECT_EQ(measure(corner, zero, Tolerance::allclose(0, 4.5)).mismatches, 1);
  EXPECT_EQ(measure(corner, zero, Tolerance::allclose(0, 5)).mismatches, 0);
  EXPECT_EQ(measure(corner, zero, Tolerance::allclose(0, 5)).maxError, 5);
  EXPECT_EQ(measure(corner, zero, Tolerance::almostEqual(4)).mismatches, 0);
  // Infinite parts must be equal; the others are judged by themselves.
  Tensor open = Tensor::of<DType::C128>({3}, {{inf, 1}, {inf, 1}, {inf, 1}});
  Tensor same = Tensor::of<DType::C128>({3}, {{inf, 1.0005}, {inf, 1.01}, {-inf, 1}});
  EXPECT_EQ(measure(same, open, Tolerance::allclose(1e-3, 0)).firstMismatches,
            (std::vector<int64_t>{1, 2}));
}

TEST(Compare, QuantizedValuesAreRealNumbers) {
  auto quantized = [](double scale, int64_t zero, std::initializer_list<int8_t> stored) {
    auto q = std::make_shared<Quantization>();
    q->storageMin = -128, q->storageMax = 127;
    q->scales = {scale}, q->zeroPoints = {zero};
    return Tensor::of<DType::I8>({static_cast<int64_t>(stored.size())}, stored)
        .withElementType({DType::I8, q});
  };
  Statistics s =
      measure(quantized(0.5, 10, {12, 14}), quantized(0.5, 10, {12, 17}), {}, {.ulp = true});
  EXPECT_EQ(s.different, 1);
  EXPECT_EQ(s.maxError, 1.5);
  EXPECT_EQ(s.ulp->max, 3u); // steps of the storage
  EXPECT_EQ(s.worst.at(0).actual, "2");
  EXPECT_EQ(s.worst.at(0).expected, "3.5");
  EXPECT_EQ(measure(quantized(0.5, 10, {12, 14}), quantized(1, 0, {1, 2})).different, 0);
  EXPECT_EQ(measure(quantized(0.5, 10, {12, 14}), vectorOf(DType::F32, {1, 2})).different, 0);
}

TEST(Compare, PerAxisQuantization) {
  auto q = std::make_shared<Quantization>();
  q->storageMin = -128, q->storageMax = 127, q->axis = 0;
  q->scales = {1, 0.25}, q->zeroPoints = {0, 4};
  Tensor a = Tensor::of<DType::I8>({2, 2}, {1, 2, 8, 12}).withElementType({DType::I8, q});
  Tensor b = Tensor::of<DType::I8>({2, 2}, {1, 2, 8, 8}).withElementType({DType::I8, q});
  EXPECT_EQ(measure(a, b).maxError, 1); // (12 - 8) * 0.25
  EXPECT_EQ(measure(a, tensorOf(DType::F64, {2, 2}, {1, 2, 1, 2})).different, 0);
}

TEST(Compare, NanAndInfinity) {
  Tensor a = vectorOf(DType::F32, {1, kNan, kInf, kNan, -kInf, 6, kNan});
  Tensor e = vectorOf(DType::F32, {1, kNan, kInf, 4, kInf, kInf, kNan});
  Statistics s = measure(a, e, Tolerance::almostEqual(100));
  EXPECT_EQ(s.nonFiniteMismatches, 3);
  EXPECT_EQ(s.mismatches, 3);
  EXPECT_EQ(s.different, 3);
  EXPECT_EQ(s.bothNan, 2);
  EXPECT_EQ(s.nonFiniteActual.nans, 3);
  EXPECT_EQ(s.nonFiniteActual.firstNan, 1);
  EXPECT_EQ(s.nonFiniteActual.infinities, 2);
  EXPECT_EQ(s.nonFiniteActual.firstInfinity, 2);
  EXPECT_EQ(s.nonFiniteExpected.nans, 2);
  EXPECT_EQ(s.nonFiniteExpected.infinities, 3);
  EXPECT_EQ(s.firstMismatches, (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(s.maxError, kInf);
  EXPECT_EQ(s.finitePairs, 1);
  EXPECT_EQ(measure(a, e, Tolerance::equal()).mismatches, 5); // NaN equals nothing
}

TEST(Compare, ZeroSizeScalarAndStrided) {
  Statistics s = measure(tensorOf(DType::F32, {0, 3}, {}), tensorOf(DType::F32, {0, 3}, {}), {},
                         {.ulp = true});
  EXPECT_EQ(s.count, 0);
  EXPECT_EQ(s.different, 0);
  EXPECT_EQ(measure(tensorOf(DType::F32, {}, {2}), tensorOf(DType::F32, {}, {3})).maxError, 1);
  int64_t swap[] = {1, 0};
  Tensor m = tensorOf(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(measure(m.transposed(swap), tensorOf(DType::F32, {3, 2}, {1, 4, 2, 5, 3, 6})).different,
            0);
}

TEST(Compare, DifferentShapesAreReportedNotCompared) {
  Statistics s =
      measure(tensorOf(DType::F32, {2, 3}, Values(6)), tensorOf(DType::F32, {3, 2}, Values(6)));
  EXPECT_FALSE(s.sameShape());
}

TEST(Compare, RefusesTolerancesWithoutSense) {
  Tensor t = vectorOf(DType::F32, {1});
  for (const Tolerance &bad :
       {Tolerance::withPcc(1.5), Tolerance::withPcc(kNan), Tolerance::almostEqual(-1),
        Tolerance::allclose(kNan, 0), Tolerance::close(1, 2)}) {
    Result<Statistics> result = compare::compare(t, t, bad);
    ASSERT_FALSE(static_cast<bool>(result));
    EXPECT_EQ(result.message().find("tolerance: "), 0u) << result.message();
  }
}

TEST(Compare, ExtremeMagnitudesNeitherOverflowNorVanish) {
  for (double unit : {1e300, 1e-300, 5e-324 * 1024, 1e-38}) {
    Values e = normals(1000, 1), a = e;
    for (size_t i = 0; i < e.size(); ++i) {
      e[i] *= unit;
      a[i] = e[i] * (i % 2 ? 1.25 : 1);
    }
    Statistics s = measure(vectorOf(DType::F64, a), vectorOf(DType::F64, e));
    EXPECT_EQ(s.pccState, PccState::Measured) << unit;
    EXPECT_GT(s.pcc, 0.98) << unit;
    EXPECT_LT(s.pcc, 0.999) << unit;
    EXPECT_NEAR(s.relativeL2, 0.25 / std::sqrt(2.0), 0.02) << unit;
    // Subnormal numbers have few bits: 3 / 1024 of a unit cannot grow by just a quarter.
    EXPECT_NEAR(s.maxRelativeError, 0.25, unit < 1e-310 ? 0.25 : 0.01) << unit;
  }
  Statistics s =
      measure(vectorOf(DType::F64, {1.7e308, 1, 2, 3}), vectorOf(DType::F64, {-1.7e308, 1, 2, 3}));
  EXPECT_EQ(s.maxError, kInf); // the difference itself is beyond doubles
  EXPECT_EQ(s.different, 1);
  EXPECT_NEAR(s.pcc, -1, 1e-12);
}

TEST(Compare, CancellationDoesNotHarmCorrelation) {
  // A large mean with a small spread; NumPy's two-pass corrcoef on the same numbers is the measure.
  Random random(3);
  Values e(200000), a(e.size());
  for (size_t i = 0; i < e.size(); ++i) {
    e[i] = 1e6 + random.normal() * 1e-3;
    a[i] = e[i] + random.normal() * 1e-4;
  }
  double me = 0, ma = 0, see = 0, saa = 0, sae = 0;
  for (size_t i = 0; i < e.size(); ++i)
    me += (e[i] - 1e6) / e.size(), ma += (a[i] - 1e6) / e.size();
  for (size_t i = 0; i < e.size(); ++i) {
    double x = a[i] - 1e6 - ma, y = e[i] - 1e6 - me;
    see += y * y, saa += x * x, sae += x * y;
  }
  Statistics s = measure(vectorOf(DType::F64, a), vectorOf(DType::F64, e));
  EXPECT_NEAR(s.pcc, sae / std::sqrt(saa * see), 1e-9);
}

TEST(Compare, ListsAreLimited) {
  Values e(100000, 1.0), a(e);
  for (size_t i = 500; i < a.size(); i += 7)
    a[i] = 2;
  a[77777] = 5;
  Statistics s = measure(vectorOf(DType::F32, a), vectorOf(DType::F32, e), {},
                         {.worst = 3, .firstMismatches = 4});
  EXPECT_EQ(s.firstMismatches, (std::vector<int64_t>{500, 507, 514, 521}));
  ASSERT_EQ(s.worst.size(), 3u);
  EXPECT_EQ(s.worst[0].position, 77777);
  EXPECT_EQ(s.worst[1].position, 500);
  EXPECT_EQ(s.worst[2].position, 507);
  s = measure(vectorOf(DType::F32, a), vectorOf(DType::F32, e), {},
              {.worst = 0, .firstMismatches = 0});
  EXPECT_TRUE(s.worst.empty());
  EXPECT_TRUE(s.firstMismatches.empty());
}

TEST(Compare, UlpHistogram) {
  std::vector<float> e(10, 1.0f), a(e);
  for (int i = 0; i < 3; ++i)
    a[i] = std::nextafter(1.0f, 2.0f);
  a[3] = 1.0f + 6 * 0x1p-23f;
  a[4] = std::numeric_limits<float>::infinity();
  Statistics s =
      measure(Tensor::of<DType::F32>({10}, std::span<const float>(a)),
              Tensor::of<DType::F32>({10}, std::span<const float>(e)), Tolerance::close(2));
  EXPECT_EQ(s.ulp->histogram[0], 5);
  EXPECT_EQ(s.ulp->histogram[1], 3);
  EXPECT_EQ(s.ulp->histogram[4], 1); // 5..8
  EXPECT_EQ(s.ulp->infinite, 1);
  EXPECT_EQ(s.ulp->max, kInfiniteUlp);
  EXPECT_EQ(s.ulp->maxFinite, 6u);
  EXPECT_EQ(s.ulpMismatches, 2);
  EXPECT_EQ(s.worst.at(0).position, 4);
  EXPECT_EQ(s.worst.at(1).position, 3);
}

} // namespace
