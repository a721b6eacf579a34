// Properties that hold for all tensors, tried on seeded random ones: any number of threads gives
// the same bits, the fast path counts what a plain loop counts, and judgements keep their order.

#include "cupel/compare/Verdict.h"

#include "cupel/compare/BlockSums.h"
#include "cupel/compare/TestTensors.h"
#include "cupel/tensor/Float.h"

#include <bit>
#include <limits>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

namespace {

struct Pair {
  Values actual, expected;
};

/// Numbers of many kinds: far and near, ties, zeros, and sometimes NaN and infinities.
Pair randomPair(Random &random, int64_t count) {
  Pair pair;
  double noise = std::pow(10.0, -6 * random.uniform()),
         mean = random.below(3) ? 0 : 100 * random.normal();
  bool specials = random.below(2), whole = random.below(4) == 0;
  for (int64_t i = 0; i < count; ++i) {
    double e = mean + random.normal();
    double a = random.below(3) ? e + noise * random.normal() : e;
    if (random.below(20) == 0)
      e = 0;
    if (whole)
      a = std::round(a), e = std::round(e);
    if (specials && random.below(200) == 0)
      a = random.below(2) ? kNan : kInf;
    if (specials && random.below(200) == 0)
      e = random.below(2) ? kNan : -kInf;
    if (specials && random.below(200) == 0)
      a = e = random.below(2) ? kNan : kInf;
    pair.actual.push_back(a);
    pair.expected.push_back(e);
  }
  return pair;
}

void expectSameBits(double a, double b) {
  EXPECT_EQ(std::bit_cast<uint64_t>(a), std::bit_cast<uint64_t>(b)) << a << " " << b;
}

void expectSame(const Statistics &a, const Statistics &b) {
  expectSameBits(a.pcc, b.pcc);
  expectSameBits(a.relativeL2, b.relativeL2);
  expectSameBits(a.cosine, b.cosine);
  expectSameBits(a.maxError, b.maxError);
  expectSameBits(a.maxRelativeError, b.maxRelativeError);
  EXPECT_EQ(a.mismatches, b.mismatches);
  EXPECT_EQ(a.different, b.different);
  EXPECT_EQ(a.nonFiniteMismatches, b.nonFiniteMismatches);
  EXPECT_EQ(a.nonFiniteActual.firstNan, b.nonFiniteActual.firstNan);
  EXPECT_EQ(a.firstMismatches, b.firstMismatches);
  ASSERT_EQ(a.worst.size(), b.worst.size());
  for (size_t i = 0; i < a.worst.size(); ++i) {
    EXPECT_EQ(a.worst[i].position, b.worst[i].position);
    expectSameBits(a.worst[i].error, b.worst[i].error);
  }
  EXPECT_EQ(a.ulp->histogram, b.ulp->histogram);
  EXPECT_EQ(a.ulp->max, b.ulp->max);
}

TEST(CompareProperty, AnyNumberOfThreadsGivesTheSameBits) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Random random(seed);
    int64_t count = 300000 + random.below(200000);
    Pair pair = randomPair(random, count);
    DType type = seed % 3 == 0 ? DType::BF16 : seed % 3 == 1 ? DType::F32 : DType::F64;
    Tensor a = vectorOf(type, pair.actual), e = vectorOf(type, pair.expected);
    Tolerance tolerance = Tolerance::allclose(1e-3, 1e-3, NanPolicy::Equal);
    Statistics one = measure(a, e, tolerance, {.ulp = true, .worst = 20, .threads = 1});
    for (int threads : {2, 3, 7})
      expectSame(one, measure(a, e, tolerance, {.ulp = true, .worst = 20, .threads = threads}));
  }
}

TEST(CompareProperty, AnyInstructionSetGivesTheSameBits) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    int64_t count = 1 + random.below(kBlock);
    Values a = normals(count, seed), e = normals(count, seed + 50), low(count, 0.0);
    std::vector<float> af(a.begin(), a.end()), ef(e.begin(), e.end());
    Tensor ab = vectorOf(DType::BF16, a), eb = vectorOf(DType::BF16, e);
    Tensor ah = vectorOf(DType::F16, a), eh = vectorOf(DType::F16, e);
    Watch watch{.pivotActual = 0.1, .pivotExpected = -0.2, .atol = 0.1, .relativeError = 3};
    watch.rtol = seed % 2 ? 0.01 : 0;
    const double *lows = seed % 3 ? nullptr : low.data();
    for (const RawBlock &block :
         {RawBlock{Source::Doubles, a.data(), e.data(), lows, lows, count},
          RawBlock{Source::F32, af.data(), ef.data(), nullptr, nullptr, count},
          RawBlock{Source::BF16, ab.data(), eb.data(), nullptr, nullptr, count},
          RawBlock{Source::F16, ah.data(), eh.data(), nullptr, nullptr, count}}) {
      PivotSums plain;
      BlockFindings found = addBlock(block, watch, plain, 0);
      EXPECT_EQ(plain.count, count);
      for (int set = 1; set < instructionSets(); ++set) {
        PivotSums sums;
        BlockFindings again = addBlock(block, watch, sums, set);
        expectSameBits(plain.actual, sums.actual);
        expectSameBits(plain.expected, sums.expected);
        expectSameBits(plain.actualSquared, sums.actualSquared);
        expectSameBits(plain.expectedSquared, sums.expectedSquared);
        expectSameBits(plain.product, sums.product);
        expectSameBits(plain.errorSquared, sums.errorSquared);
        expectSameBits(found.maxError, again.maxError);
        expectSameBits(found.maxExcess, again.maxExcess);
        EXPECT_EQ(found.different, again.different);
        EXPECT_EQ(found.anyMisses, again.anyMisses);
        EXPECT_EQ(found.relativeErrorGrows, again.relativeErrorGrows);
      }
    }
  }
}

TEST(CompareProperty, CountsWhatAPlainLoopCounts) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    int64_t count = random.below(seed % 10 ? 50 : 5000);
    Pair pair = randomPair(random, count);
    double atol = random.below(3) ? std::pow(10.0, -5 * random.uniform()) : 0;
    double rtol = random.below(2) ? std::pow(10.0, -5 * random.uniform()) : 0;
    NanPolicy nan = random.below(2) ? NanPolicy::Equal : NanPolicy::Unequal;
    Statistics s =
        measure(vectorOf(DType::F64, pair.actual), vectorOf(DType::F64, pair.expected),
                Tolerance::allclose(rtol, atol, nan), {.worst = 3, .firstMismatches = 1 << 20});
    std::vector<int64_t> misses;
    double maxError = 0, maxRelative = 0, errors = 0, squares = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < count; ++i) {
      double a = pair.actual[i], e = pair.expected[i];
      if (std::isfinite(a) && std::isfinite(e)) {
        double error = std::fabs(a - e);
        ++finite;
        errors += error * error, squares += e * e;
        maxError = std::max(maxError, error);
        if (e != 0)
          maxRelative = std::max(maxRelative, error / std::fabs(e));
        if (error > atol + rtol * std::fabs(e))
          misses.push_back(i);
      } else if (!(a == e) && !(nan == NanPolicy::Equal && std::isnan(a) && std::isnan(e))) {
        misses.push_back(i);
        maxError = kInf;
      }
    }
    EXPECT_EQ(s.firstMismatches, misses) << seed;
    EXPECT_EQ(s.mismatches, static_cast<int64_t>(misses.size())) << seed;
    EXPECT_EQ(s.maxError, maxError) << seed;
    EXPECT_EQ(s.maxRelativeError, maxRelative) << seed;
    EXPECT_EQ(s.finitePairs, finite) << seed;
    if (squares > 0)
      EXPECT_NEAR(s.relativeL2, std::sqrt(errors / squares), 1e-9 * (1 + s.relativeL2)) << seed;
  }
}

TEST(CompareProperty, TheTypesReadDirectlyMeanTheSameAsDoubles) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Pair pair = randomPair(random, random.below(4000));
    for (DType type : {DType::F32, DType::BF16, DType::F16}) {
      Tensor a = vectorOf(type, pair.actual), e = vectorOf(type, pair.expected);
      Tensor aWide = std::move(*convert(a, DType::F64)), eWide = std::move(*convert(e, DType::F64));
      Tolerance tolerance{.atol = 1e-3, .rtol = seed % 2 ? 1e-2 : 0};
      Statistics narrow = measure(a, e, tolerance), wide = measure(aWide, eWide, tolerance);
      expectSameBits(narrow.relativeL2, wide.relativeL2);
      expectSameBits(narrow.maxRelativeError, wide.maxRelativeError);
      EXPECT_EQ(narrow.mismatches, wide.mismatches);
      EXPECT_EQ(narrow.different, wide.different);
      EXPECT_EQ(narrow.firstMismatches, wide.firstMismatches);
    }
  }
}

TEST(CompareProperty, EveryHalfIsReadExactly) {
  auto tryAll = [](Source source, auto toDouble) {
    for (int set = 0; set < instructionSets(); ++set)
      for (int i = 0; i < 65536; ++i) {
        uint16_t pattern = static_cast<uint16_t>(i), zero = 0;
        PivotSums sums;
        double value = toDouble(pattern);
        bool finite =
            addBlock({source, &pattern, &zero, nullptr, nullptr, 1}, {}, sums, set).finite;
        ASSERT_EQ(finite, std::isfinite(value) && std::isfinite(value * value)) << i;
        if (finite)
          ASSERT_EQ(sums.actual, value) << i;
      }
  };
  tryAll(Source::F16, toDouble<DType::F16>);
  tryAll(Source::BF16, toDouble<DType::BF16>);
}

TEST(CompareProperty, PccIsCorrelation) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    int64_t count = 3 + random.below(3000);
    Pair pair = randomPair(random, count);
    long double ma = 0, me = 0, n = 0, aa = 0, ee = 0, ae = 0;
    auto finite = [&](int64_t i) {
      return std::isfinite(pair.actual[i]) && std::isfinite(pair.expected[i]);
    };
    for (int64_t i = 0; i < count; ++i)
      if (finite(i))
        ma += pair.actual[i], me += pair.expected[i], ++n;
    ma /= n, me /= n;
    for (int64_t i = 0; i < count; ++i)
      if (finite(i)) {
        long double x = pair.actual[i] - ma, y = pair.expected[i] - me;
        aa += x * x, ee += y * y, ae += x * y;
      }
    Statistics s = measure(vectorOf(DType::F64, pair.actual), vectorOf(DType::F64, pair.expected));
    if (s.pccState == PccState::Measured)
      EXPECT_NEAR(s.pcc, static_cast<double>(ae / std::sqrt(aa * ee)), 1e-12) << seed;
    EXPECT_FALSE(s.pccState == PccState::ExpectedConstant && ee / n > 1e-20L * me * me) << seed;
  }
}

TEST(CompareProperty, PccIsSymmetricAndBlindToScale) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Values x = normals(2000, seed), y = normals(2000, seed + 100), scaled;
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] += x[i];
      scaled.push_back(4 * y[i]);
    }
    Tensor a = vectorOf(DType::F64, x), b = vectorOf(DType::F64, y),
           c = vectorOf(DType::F64, scaled);
    expectSameBits(measure(a, b).pcc, measure(b, a).pcc);
    expectSameBits(measure(a, b).pcc, measure(a, c).pcc);
  }
}

/// Values around `size` that vary by `spread` steps of the type, and results `off` steps from them.
Pair nearlyConstantPair(Random &random, int64_t count, DType type, double size, double spread,
                        double off) {
  double step = size * std::ldexp(1.0, type == DType::F32 ? -23 : type == DType::F64 ? -52 : -10);
  Pair pair;
  for (int64_t i = 0; i < count; ++i) {
    pair.expected.push_back(size + spread * step * (2 * random.uniform() - 1));
    pair.actual.push_back(pair.expected.back() + off * step * (2 * random.uniform() - 1));
  }
  return pair;
}

TEST(CompareProperty, RoundingOfNearlyEqualValuesPasses) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    DType type = seed % 3 == 0 ? DType::F16 : seed % 3 == 1 ? DType::F32 : DType::F64;
    double size = (seed % 2 ? 1 : -1) * std::pow(2.0, 2 * random.normal());
    Pair pair = nearlyConstantPair(random, 3 + random.below(200), type, size,
                                   50 * random.uniform(), type == DType::F16 ? 4 : 10);
    Result<Verdict> verdict =
        compare::check(vectorOf(type, pair.actual), vectorOf(type, pair.expected),
                       Tolerance::withPcc(0.99));
    EXPECT_TRUE(verdict->passed) << seed << ": " << verdict->sentence;
  }
}

TEST(CompareProperty, NearlyEqualValuesDoNotHideAnError) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    DType type = seed % 2 ? DType::F32 : DType::F64;
    double size = std::pow(2.0, 8 * random.normal());
    int64_t count = 3 + random.below(200);
    Pair pair = nearlyConstantPair(random, count, type, size, 2 + 10 * random.uniform(), 0);
    // One element beyond a few roundings: the larger the tensor, the farther it has to be before
    // a correlation sees it, but never may closeness let it through.
    pair.actual[random.below(count)] += (random.below(2) ? 1 : -1) * 64 * std::sqrt(double(count)) *
                                        size * std::ldexp(1.0, type == DType::F32 ? -23 : -52);
    Tensor a = vectorOf(type, pair.actual), e = vectorOf(type, pair.expected);
    Result<Verdict> verdict = compare::check(a, e, Tolerance::withPcc(0.99));
    EXPECT_NE(verdict->statistics.pccState, PccState::WithinRounding) << seed;
    if (verdict->statistics.pccState == PccState::Measured)
      EXPECT_FALSE(verdict->passed) << seed << ": " << verdict->sentence;
  }
}

TEST(CompareProperty, EqualTensorsPassEveryTolerance) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Pair pair = randomPair(random, random.below(300));
    for (DType type : {DType::F32, DType::BF16, DType::F8E5M2, DType::F64, DType::I8, DType::C64}) {
      Tensor t = vectorOf(type, pair.actual);
      for (const Tolerance &tolerance :
           {Tolerance{}, Tolerance::withPcc(1), Tolerance::almostEqual(0), Tolerance::close(0),
            Tolerance{.pcc = 1.0,
                      .atol = 0.0,
                      .rtol = 0.0,
                      .relativeL2 = 0.0,
                      .cosine = 1.0,
                      .ulp = UlpRange{}}}) {
        Result<Verdict> verdict = compare::check(t, t, tolerance);
        EXPECT_TRUE(verdict->passed) << verdict->sentence;
        EXPECT_EQ(verdict->picture, "");
      }
    }
  }
}

TEST(CompareProperty, NanAgainstANumberFailsEveryTolerance) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Values e = normals(1 + random.below(3000), seed), a = e;
    a[random.below(static_cast<int64_t>(a.size()))] = random.below(2) ? kNan : kInf;
    for (DType type : {DType::F32, DType::BF16})
      for (const Tolerance &tolerance :
           {Tolerance{}, Tolerance::withPcc(-1), Tolerance::almostEqual(kInf),
            Tolerance::close(UINT64_MAX), Tolerance{.relativeL2 = kInf}, Tolerance{.cosine = -1.0},
            Tolerance::allclose(kInf, kInf)}) {
        EXPECT_FALSE(compare::check(vectorOf(type, a), vectorOf(type, e), tolerance)->passed);
        EXPECT_FALSE(compare::check(vectorOf(type, e), vectorOf(type, a), tolerance)->passed);
      }
  }
}

TEST(CompareProperty, MoreToleranceNeverFailsWhatLessPassed) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Pair pair = randomPair(random, 1 + random.below(500));
    Tensor a = vectorOf(DType::F32, pair.actual), e = vectorOf(DType::F32, pair.expected);
    auto passes = [&](const Tolerance &t) { return compare::check(a, e, t)->passed; };
    bool before[3] = {};
    for (double size : {0.0, 1e-6, 1e-4, 1e-2, 1.0}) {
      bool now[3] = {passes(Tolerance::almostEqual(size)), passes(Tolerance::withPcc(1 - size)),
                     passes(Tolerance::close(static_cast<uint64_t>(size * 1e9)))};
      for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(!before[i] || now[i]) << seed << " " << i << " " << size;
        before[i] = now[i];
      }
    }
  }
}

} // namespace
