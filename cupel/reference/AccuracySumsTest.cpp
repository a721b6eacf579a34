// Sums and dot products with wide accumulation against exact sums, and against what a pairwise sum
// in f32 makes of the same values; and the same bits whatever the layout and the blocking.

#include "cupel/reference/AccuracyOracle.h"
#include "cupel/reference/AccuracyReport.h"
#include "cupel/reference/DotAndConvolution.h"
#include "cupel/reference/KernelTesting.h"
#include "cupel/reference/Reductions.h"

#include <algorithm>
#include <bit>

using namespace cupel;
using namespace cupel::reference;

namespace {

double uniform(std::mt19937_64 &random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// What is summed.
struct Family {
  const char *name;
  double (*draw)(std::mt19937_64 &);
};
const Family kFamilies[] = {
    {"0..1", uniform},
    {"-1..1", [](auto &r) { return 2 * uniform(r) - 1; }},
    {"1 + 0..2^-6", [](auto &r) { return 1 + uniform(r) / 64; }},
    {"±2^(-12..12)",
     [](auto &r) {
       double size = std::exp2(24 * uniform(r) - 12);
       return r() & 1 ? size : -size;
     }},
    {"mostly small, a few large",
     [](auto &r) { return r() % 64 ? uniform(r) / 1024 : 1000 * (uniform(r) - 0.5); }},
};
constexpr int64_t kLengths[] = {1, 2, 7, 8, 9, 100, 1000, 4096, 65537};

/// Halves down to one element, every addition rounded to f32.
float pairwise(std::span<const float> values) {
  if (values.size() == 1)
    return values[0];
  size_t half = values.size() / 2;
  return pairwise(values.first(half)) + pairwise(values.subspan(half));
}

/// The exact sum of products of doubles that have 24 bits each.
void exactDot(std::span<const double> a, std::span<const double> b, Real &sum) {
  Real product{Bits{53}};
  sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product = a[i] * b[i]; // exact: 48 bits
    mpfr_add(sum, sum, product, MPFR_RNDN);
  }
}

int exactCopy(mpfr_ptr r, mpfr_srcptr a, mpfr_srcptr) { return mpfr_set(r, a, MPFR_RNDN); }

/// Holds every sum of f32 values and products exactly.
constexpr Bits kExact{1024};

template <DType type> struct Summation {
  using S = Storage<type>;
  SumRow row;

  void judge(double got, double other, const Real &exact) {
    static const Real none(0.0);
    double ours = Format<type>::ulps(got, exactCopy, exact, none);
    double theirs = Format<type>::ulps(other, exactCopy, exact, none);
    ++row.cases;
    row.correct += got == Format<type>::rounded(exactCopy, exact, none);
    ++(ours < theirs ? row.closer : ours == theirs ? row.equal : row.farther);
    row.worst = std::max(row.worst, ours);
    row.pairwiseWorst = std::max(row.pairwiseWorst, theirs);
  }
  void report() {
    AccuracyReport::get().add(row);
    EXPECT_EQ(row.farther, 0) << row.operation << " " << row.type << " " << row.family;
    EXPECT_EQ(row.correct, row.cases) << row.operation << " " << row.type << " " << row.family;
    // Rounded to 16 bits, the two hardly ever differ.
    if (type == DType::F32)
      EXPECT_GT(row.closer, 0) << row.operation << " " << row.type << " " << row.family;
  }
};

template <DType type>
std::vector<Storage<type>> drawn(std::mt19937_64 &random, const Family &family, int64_t count) {
  std::vector<Storage<type>> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(tensor::fromDouble<type>(family.draw(random)));
  return values;
}

template <DType type> Tensor vectorOf(const std::vector<Storage<type>> &values) {
  return Tensor::of<type>({static_cast<int64_t>(values.size())},
                          std::span<const Storage<type>>(values));
}

template <DType type> TestFunction addition() {
  return binary<type>(
      [](auto a, auto b) {
        return tensor::fromDouble<type>(tensor::toDouble<type>(a) + tensor::toDouble<type>(b));
      },
      KnownFunction::Add);
}

template <DType type> std::vector<Storage<type>> sum(const Tensor &input, int64_t dimension) {
  Tensor init = Tensor::of<type>({}, {Storage<type>(0)});
  TestFunction body = addition<type>();
  auto result = reduce({&input, 1}, {&init, 1}, {&dimension, 1}, body, Accumulate::Wide);
  EXPECT_TRUE(static_cast<bool>(result));
  return valuesOf<type>((*result)[0]);
}

template <DType type> Storage<type> dotProduct(const Tensor &a, const Tensor &b) {
  return valuesOf<type>(dot(a, b, type, Accumulate::Wide))[0];
}

int repeats(int64_t length) {
  int count = isFullRun() ? 200 : 6;
  return length > 10'000 ? std::max(1, count / 10) : count;
}

template <DType type> void measure(bool products) {
  for (const Family &family : kFamilies) {
    Summation<type> summation{
        {products ? "dot" : "reduce add", std::string(tensor::info(type).name), family.name}};
    std::mt19937_64 random(42);
    Real exact{kExact};
    for (int64_t length : kLengths)
      for (int repeat = 0; repeat < repeats(length); ++repeat) {
        auto a = drawn<type>(random, family, length), b = drawn<type>(random, family, length);
        std::vector<double> x, y;
        std::vector<float> terms;
        for (int64_t i = 0; i < length; ++i) {
          x.push_back(tensor::toDouble<type>(a[i]));
          y.push_back(products ? tensor::toDouble<type>(b[i]) : 1);
          terms.push_back(static_cast<float>(x[i]) * static_cast<float>(y[i]));
        }
        exactDot(x, y, exact);
        auto got = products ? dotProduct<type>(vectorOf<type>(a), vectorOf<type>(b))
                            : sum<type>(vectorOf<type>(a), 0)[0];
        auto other = tensor::fromDouble<type>(pairwise(terms));
        summation.judge(tensor::toDouble<type>(got), tensor::toDouble<type>(other), exact);
      }
    summation.report();
  }
}

TEST(SumAccuracyTest, ReduceIsAtLeastAsCloseAsPairwiseF32) {
  measure<DType::F32>(false);
  measure<DType::F16>(false);
  measure<DType::BF16>(false);
}
TEST(SumAccuracyTest, DotIsAtLeastAsCloseAsPairwiseF32) {
  measure<DType::F32>(true);
  measure<DType::F16>(true);
  measure<DType::BF16>(true);
}

// Terms across the whole range of f32, most of which cancel exactly: what is left may be hundreds
// of bits below the largest. Another order may keep it by luck; ours must keep it always.
template <DType type>
std::vector<Storage<type>> cancelling(std::mt19937_64 &random, int64_t pairs) {
  std::vector<Storage<type>> values;
  int spread = 1 + static_cast<int>(random() % 120);
  for (int64_t i = 0; i < pairs; ++i) {
    double size = std::exp2(2 * spread * uniform(random) - spread);
    values.push_back(tensor::fromDouble<type>(size));
    values.push_back(tensor::fromDouble<type>(-size));
  }
  for (int64_t i = 0; i < 3; ++i)
    values.push_back(tensor::fromDouble<type>(std::exp2(-1 - spread * uniform(random))));
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

template <DType type> void expectExact(bool products) {
  std::mt19937_64 random(9);
  Real exact{kExact}, none(0.0);
  for (int repeat = 0; repeat < 300; ++repeat) {
    auto a = cancelling<type>(random, 1 + static_cast<int64_t>(random() % 200));
    std::vector<Storage<type>> b(a.size(), tensor::fromDouble<type>(1));
    if (products)
      for (auto &value : b)
        value = tensor::fromDouble<type>(random() & 1 ? 1.5 : -0.375);
    std::vector<double> x, y;
    for (size_t i = 0; i < a.size(); ++i) {
      x.push_back(tensor::toDouble<type>(a[i]));
      y.push_back(tensor::toDouble<type>(b[i]));
    }
    exactDot(x, y, exact);
    auto got = products ? dotProduct<type>(vectorOf<type>(a), vectorOf<type>(b))
                        : sum<type>(vectorOf<type>(a), 0)[0];
    EXPECT_EQ(tensor::toDouble<type>(got), Format<type>::rounded(exactCopy, exact, none))
        << (products ? "dot of " : "sum of ") << a.size() << " terms";
  }
}

TEST(SumAccuracyTest, CancellationLosesNothing) {
  std::vector<float> values(32, 0);
  values[0] = 1;
  values[16] = 0x1p80f;
  values[24] = -0x1p80f;
  EXPECT_EQ(pairwise(values), 1); // by luck
  EXPECT_EQ(sum<DType::F32>(vectorOf<DType::F32>(values), 0)[0], 1);
  values[0] = 0x1p-149f;
  values[5] = 0x1p-60f;
  values[30] = -0x1p-60f;
  EXPECT_EQ(sum<DType::F32>(vectorOf<DType::F32>(values), 0)[0], 0x1p-149f);
  expectExact<DType::F32>(false);
  expectExact<DType::BF16>(false);
  expectExact<DType::F32>(true);
  expectExact<DType::BF16>(true);
}

// A tie of f32 that only the last of many terms breaks, and sums that are exactly a tie.
TEST(SumAccuracyTest, TiesAreBrokenByTheSmallestTerm) {
  for (float last : {0.0f, 0x1p-140f, -0x1p-140f}) {
    std::vector<float> values(1000, 0);
    values[3] = 1;
    values[500] = 0x1p-24f;
    values[777] = last;
    float want = last > 0 ? 1 + 0x1p-23f : 1.0f;
    EXPECT_EQ(sum<DType::F32>(vectorOf<DType::F32>(values), 0)[0], want) << last;
    std::vector<float> ones(values.size(), 1);
    EXPECT_EQ(dotProduct<DType::F32>(vectorOf<DType::F32>(values), vectorOf<DType::F32>(ones)),
              want)
        << last;
  }
}

TEST(SumAccuracyTest, ZerosInfinitiesAndNan) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  auto sumOf = [](std::vector<float> values, float init) {
    Tensor input = vectorOf<DType::F32>(values), start = Tensor::of<DType::F32>({}, {init});
    int64_t dimension = 0;
    TestFunction body = addition<DType::F32>();
    auto result = reduce({&input, 1}, {&start, 1}, {&dimension, 1}, body, Accumulate::Wide);
    return valuesOf<DType::F32>((*result)[0])[0];
  };
  for (size_t length : {1, 7, 64, 1000}) {
    std::vector<float> values(length, -0.0f);
    EXPECT_TRUE(std::signbit(sumOf(values, -0.0f))) << length;
    EXPECT_FALSE(std::signbit(sumOf(values, 0.0f))) << length;
    values[length / 2] = inf;
    EXPECT_EQ(sumOf(values, 0), inf) << length;
    EXPECT_TRUE(std::isnan(sumOf(values, -inf))) << length;
    values[length / 2] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(sumOf(values, 0))) << length;
    std::fill(values.begin(), values.end(), std::numeric_limits<float>::max());
    EXPECT_EQ(sumOf(values, 0), length == 1 ? std::numeric_limits<float>::max() : inf) << length;
    EXPECT_EQ(sumOf(values, -inf), -inf) << length;
  }
}

// Sums of small integers often are exactly a tie of f32.
TEST(SumAccuracyTest, Integers) {
  std::mt19937_64 random(10);
  for (int64_t length : {100, 5000}) {
    std::vector<float> values;
    double exact = 0;
    for (int64_t i = 0; i < length; ++i) {
      values.push_back(static_cast<float>(random() % 20'000));
      exact += values.back();
    }
    EXPECT_EQ(sum<DType::F32>(vectorOf<DType::F32>(values), 0)[0], static_cast<float>(exact));
  }
}

// The parts of complex numbers are summed each for themselves.
TEST(SumAccuracyTest, Complex) {
  using Complex = std::complex<float>;
  std::vector<Complex> values(96);
  values[0] = {1, -0x1p-100f};
  values[40] = {0x1p90f, 0x1p10f};
  values[70] = {-0x1p90f, -0x1p10f};
  Tensor input = Tensor::of<DType::C64>({96}, std::span<const Complex>(values));
  Tensor init = Tensor::of<DType::C64>({}, {Complex(2, 0)});
  TestFunction body = binary<DType::C64>([](auto a, auto b) { return a + b; }, KnownFunction::Add);
  for (tensor::Shape shape : {tensor::Shape{96, 1}, {1, 96}, {4, 24}}) {
    std::vector<int64_t> dimensions = {0, 1};
    Tensor view = input.reshaped(shape);
    auto result = reduce({&view, 1}, {&init, 1}, dimensions, body, Accumulate::Wide);
    ASSERT_TRUE(static_cast<bool>(result));
    EXPECT_EQ(valuesOf<DType::C64>((*result)[0])[0], Complex(3, -0x1p-100f));
  }
}

// One row of numbers, summed on its own, as a row and as a column among others, and through views.
TEST(SumAccuracyTest, SumsDoNotDependOnLayout) {
  std::mt19937_64 random(7);
  for (int64_t length : {5, 64, 1000, 4097}) {
    auto values = drawn<DType::F32>(random, kFamilies[3], length);
    float alone = sum<DType::F32>(vectorOf<DType::F32>(values), 0)[0];
    for (int64_t others : {1, 2, 3, 8, 17, 64}) {
      std::vector<float> rows(static_cast<size_t>(others * length));
      for (int64_t r = 0; r < others; ++r)
        std::copy(values.begin(), values.end(), rows.begin() + r * length);
      Tensor matrix = Tensor::of<DType::F32>({others, length}, rows);
      int64_t order[] = {1, 0};
      Tensor turned = *matrix.transposed(order).contiguous();
      std::vector<float> want(static_cast<size_t>(others), alone);
      EXPECT_EQ(sum<DType::F32>(matrix, 1), want) << length << " x " << others;
      EXPECT_EQ(sum<DType::F32>(matrix.transposed(order), 0), want) << length << " x " << others;
      EXPECT_EQ(sum<DType::F32>(turned, 0), want) << length << " x " << others;
      EXPECT_EQ(sum<DType::F32>(turned.transposed(order), 1), want) << length << " x " << others;
    }
  }
}

// Every element of a matrix product is the dot product of its row and column, whatever the sizes
// that choose the blocks.
TEST(SumAccuracyTest, DotDoesNotDependOnBlocking) {
  std::mt19937_64 random(8);
  for (int64_t length : {3, 65, 600, 403}) {
    auto a = length == 403 ? cancelling<DType::F32>(random, 200)
                           : drawn<DType::F32>(random, kFamilies[3], length);
    auto b = drawn<DType::F32>(random, kFamilies[3], length);
    float alone = dotProduct<DType::F32>(vectorOf<DType::F32>(a), vectorOf<DType::F32>(b));
    for (auto [m, n] : {std::pair{1, 5}, {2, 1}, {7, 9}, {33, 64}, {100, 130}}) {
      std::vector<float> rows, columns;
      for (int i = 0; i < m; ++i)
        rows.insert(rows.end(), a.begin(), a.end());
      for (float x : b)
        columns.insert(columns.end(), static_cast<size_t>(n), x);
      auto product = valuesOf<DType::F32>(dot(Tensor::of<DType::F32>({m, length}, rows),
                                              Tensor::of<DType::F32>({length, n}, columns),
                                              DType::F32, Accumulate::Wide));
      EXPECT_EQ(product, std::vector<float>(static_cast<size_t>(m * n), alone))
          << m << "x" << length << "x" << n;
    }
  }
}

/// C = A B for more rows than a few, where whole rows and columns tell which sums are exact: all
/// elements against exact sums, rounded once. What is not finite is worked out by f64's own rules.
void expectRoundedOnce(const std::vector<float> &a, const std::vector<float> &b, int64_t m,
                       int64_t n, int64_t k, const std::string &what) {
  Tensor left = Tensor::of<DType::F32>({m, k}, std::span<const float>(a));
  Tensor right = Tensor::of<DType::F32>({k, n}, std::span<const float>(b));
  // B as it is, and as the transpose of one that lies the other way.
  std::vector<float> turned(b.size());
  for (int64_t l = 0; l < k; ++l)
    for (int64_t j = 0; j < n; ++j)
      turned[j * k + l] = b[l * n + j];
  Tensor other = Tensor::of<DType::F32>({n, k}, std::span<const float>(turned));
  auto plain = valuesOf<DType::F32>(
      dotGeneral(left, right, {{}, {}, {1}, {0}}, DType::F32, Accumulate::Wide));
  auto across = valuesOf<DType::F32>(
      dotGeneral(left, other, {{}, {}, {1}, {1}}, DType::F32, Accumulate::Wide));
  static const Real none(0.0);
  Real exact(kExact);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      std::vector<double> row, column;
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        row.push_back(a[i * k + l]);
        column.push_back(b[l * n + j]);
        sum += row.back() * column.back();
      }
      float got = plain[i * n + j];
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(across[i * n + j])) << what;
      if (!std::isfinite(sum)) {
        ASSERT_EQ(std::isnan(sum), std::isnan(got)) << what;
        ASSERT_TRUE(std::isnan(sum) || got == static_cast<float>(sum)) << what;
        continue;
      }
      exactDot(row, column, exact);
      ASSERT_EQ(got, Format<DType::F32>::rounded(exactCopy, exact, none))
          << what << " at " << i << ", " << j;
    }
}

// Halfway between two f32 but for one small term, which f64 still sees or does not any more.
TEST(ExactProducts, TiesWithATermThatIsSeenOrNot) {
  for (int64_t k : {3, 4, 7, 8, 40})
    for (int small = 25; small <= 140; ++small) {
      constexpr int64_t m = 6, n = 20;
      std::vector<float> a(m * k, 0.0f), b(k * n, 0.0f);
      for (int64_t i = 0; i < m; ++i) {
        float odd = 1 + static_cast<float>(i % 2) * 0x1p-23f; // ties go to even
        a[i * k] = i % 3 == 2 ? -odd : odd;
        a[i * k + 1] = i % 3 == 2 ? -0x1p-12f : 0x1p-12f;
        a[i * k + 2] = std::ldexp(1.0f, -small / 2);
      }
      for (int64_t j = 0; j < n; ++j) {
        b[j] = 1;
        b[n + j] = 0x1p-12f;
        b[2 * n + j] = (j % 3 == 0 ? 1.0f : j % 3 == 1 ? -1.0f : 0.0f) *
                       std::ldexp(1.0f, -(small - small / 2));
      }
      expectRoundedOnce(a, b, m, n, k, "a term of 2^-" + std::to_string(small));
    }
}

// Whole numbers of as many bits as sums of them may have, and of one more: from 32 terms of 24 bits
// each on a sum may need 54.
TEST(ExactProducts, NumbersOfAsManyBitsAsF64HasAndMore) {
  std::mt19937_64 random(5);
  for (int64_t k : {1, 2, 15, 16, 31, 32, 33, 63, 64, 130})
    for (int bits : {8, 11, 16, 22, 23, 24})
      for (int range : {0, 3, 8, 20, 60}) {
        constexpr int64_t m = 5, n = 18;
        auto draw = [&](int64_t count) {
          std::vector<float> values;
          for (int64_t i = 0; i < count; ++i) {
            auto whole = static_cast<float>((random() >> (64 - bits)) | 1);
            int exponent = range ? static_cast<int>(random() % (range + 1)) : 0;
            float value = random() % 11 == 0 ? 0.0f : std::ldexp(whole, exponent - range / 2);
            values.push_back(random() % 2 && k % 2 ? -value : value);
          }
          return values;
        };
        expectRoundedOnce(draw(m * k), draw(k * n), m, n, k,
                          std::to_string(k) + " terms of " + std::to_string(bits) +
                              " bits, range " + std::to_string(range));
      }
}

// Sums of whole numbers from 2^23 on, one beside the middle between two f32: of 31 terms f64 has all
// 53 bits, of 63 the one that decides is the 54th.
TEST(ExactProducts, SumsBesideATieAtTheLastBitOfF64) {
  std::mt19937_64 random(7);
  auto draw = [&] { return (uint64_t{1} << 23) | (random() >> 41) | 1; };
  auto inverse = [](uint64_t odd) { // modulo 2^64
    uint64_t x = odd;
    for (int i = 0; i < 6; ++i)
      x *= 2 - odd * x;
    return x;
  };
  for (int64_t k : {5, 16, 29, 30, 31, 32, 33, 45, 62, 63}) {
    constexpr int64_t m = 5, n = 40;
    std::vector<uint64_t> a(m * k), b(k * n);
    std::ranges::generate(a, draw);
    int beside = 0;
    for (int64_t j = 0; j < n; ++j) {
      const uint64_t *row = a.data() + j % m * k;
      const uint64_t turn = inverse(row[k - 1]);
      for (int attempt = 0; attempt < 20000; ++attempt) {
        uint64_t sum = 0;
        for (int64_t l = 0; l + 1 < k; ++l) {
          if (attempt == 0 || l + 2 == k)
            b[l * n + j] = draw();
          sum += row[l] * b[l * n + j];
        }
        // The last term is about 2^47; of the sum one bit more than f32 has is left.
        int below = static_cast<int>(std::bit_width(sum + (uint64_t{1} << 47))) - 24;
        uint64_t half = uint64_t{1} << (below - 1), wanted = j % 2 ? half + 1 : half - 1;
        uint64_t last = ((wanted - sum) * turn) & (2 * half - 1);
        b[(k - 1) * n + j] = last >> 23 == 1 ? last : draw();
        sum += row[k - 1] * b[(k - 1) * n + j];
        if (last >> 23 == 1 && static_cast<int>(std::bit_width(sum)) - 24 == below) {
          ++beside;
          break;
        }
      }
    }
    EXPECT_GT(beside, n / 2) << k;
    std::vector<float> left(a.begin(), a.end()), right(b.begin(), b.end());
    expectRoundedOnce(left, right, m, n, k, std::to_string(k) + " terms");
  }
}

// Subnormal numbers and results, zeros, and rows with what is not finite beside rows without.
TEST(ExactProducts, SubnormalsZerosAndWhatIsNotFinite) {
  std::mt19937_64 random(6);
  const float infinity = std::numeric_limits<float>::infinity();
  for (int round = 0; round < 60; ++round) {
    constexpr int64_t m = 7, n = 33, k = 19;
    auto draw = [&](int64_t count, int low) {
      std::vector<float> values;
      for (int64_t i = 0; i < count; ++i) {
        auto whole = static_cast<float>(random() % 256);
        float value = std::ldexp(whole, low + static_cast<int>(random() % 12));
        values.push_back(random() % 2 ? -value : value);
      }
      return values;
    };
    std::vector<float> a = draw(m * k, round % 2 ? -149 : -80);
    std::vector<float> b = draw(k * n, round % 2 ? -6 : -75);
    if (round % 3 == 0) {
      a[(random() % m) * k + random() % k] = round % 2 ? infinity : std::nanf("");
      b[random() % (k * n)] = -infinity;
    }
    if (round % 4 == 0) // A row of zeros, and one of their negatives.
      for (int64_t l = 0; l < k; ++l) {
        a[l] = 0.0f;
        a[k + l] = -0.0f;
      }
    expectRoundedOnce(a, b, m, n, k, "round " + std::to_string(round));
  }
}

} // namespace
