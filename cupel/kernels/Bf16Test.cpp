#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/Product.h"
#include "cupel/kernels/TestBuffers.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace cupel::kernels {
namespace {

class Bf16Test : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, Bf16Test, everyIsa(), nameOfIsa);

/// Elements of bf16 that end where memory ends.
class GuardedBf16 {
public:
  explicit GuardedBf16(int64_t count, unsigned seed) : floats((count + 1) / 2) {
    floats.fill(seed);
    auto *first = reinterpret_cast<uint16_t *>(floats.data());
    elements = first + floats.length() * 2 - count;
    std::mt19937 random(seed);
    for (int64_t i = 0; i < count; ++i) {
      float value = static_cast<float>(static_cast<int>(random() % 513) - 256) / 64.0f;
      elements[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    }
  }
  const uint16_t *data() const { return elements; }

private:
  GuardedFloats floats;
  uint16_t *elements;
};

double widened(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

void check(int64_t m, int64_t n, int64_t k, Bf16View a, Bf16View b, int threads) {
  SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
  GuardedFloats c(m * n), bias(n);
  bias.fill(9);
  Pool pool(threads);
  PackedMatrix packed = packMatrix(b, k, n, pool);
  EXPECT_EQ(packed.rows(), k);
  multiply(m, a, packed, c.data(), n, {bias.data()}, pool);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t p = 0; p < k; ++p) {
        double term = widened(a.data[i * a.rowStride + p * a.columnStride]) *
                      widened(b.data[p * b.rowStride + j * b.columnStride]);
        sum += term;
        magnitude += std::abs(term);
      }
      double bound = (static_cast<double>(k) + 4) * std::ldexp(1.0, -23) * (magnitude + 1);
      ASSERT_NEAR(c[i * n + j], sum + bias[j], bound) << i << ", " << j;
    }
}

TEST_P(Bf16Test, OddShapesAndStrides) {
  for (int64_t m : {0, 1, 7, 20})
    for (int64_t n : {1, 16, 37, 100})
      for (int64_t k : {0, 1, 2, 3, 40, 41, 1100}) {
        GuardedBf16 a(m * k, 1), b(k * n, 2);
        check(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, 1);
        check(m, n, k, {a.data(), 1, m}, {b.data(), 1, k}, 2);
      }
}

/// Adds a block that nobody keeps to a result of so many columns.
void addElsewhere(void *const *operands, float *c, int64_t ldc, int64_t row, int64_t rows, int64_t column,
              int64_t columns) {
  auto *result = static_cast<float *>(operands[0]);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[(row + i) * *static_cast<const int64_t *>(operands[1]) + column + j] += c[i * ldc + j];
}

TEST_P(Bf16Test, TheEpilogueAloneSeesWhatHasNoPlace) {
  for (int64_t m : {1, 7, 140})
    for (int64_t n : {1, 37, 100, 800})
      for (int64_t k : {1, 40, 1100, 2300}) {
        SCOPED_TRACE(testing::Message() << m << " x " << n << " x " << k);
        GuardedBf16 a(m * k, 1), b(k * n, 2);
        GuardedFloats bias(n);
        bias.fill(9);
        Pool pool(2);
        PackedMatrix packed = packMatrix(Bf16View{b.data(), n}, k, n, pool);
        std::vector<float> kept(static_cast<size_t>(m * n)), carried(kept.size());
        multiply(m, Bf16View{a.data(), k}, packed, kept.data(), n, {bias.data()}, pool);
        void *operands[] = {carried.data(), &n};
        multiply(m, Bf16View{a.data(), k}, packed, nullptr, n, {bias.data(), addElsewhere, operands}, pool);
        ASSERT_EQ(carried, kept); // Each element once.
      }
}

TEST_P(Bf16Test, PairsTakeHalfTheMemory) {
  GuardedBf16 b(64 * 64, 1);
  int64_t bytes = packMatrix(Bf16View{b.data(), 64}, 64, 64, Pool(1)).bytes();
  EXPECT_EQ(bytes, GetParam() >= Isa::Bf16 ? 64 * 64 * 2 : 64 * 64 * 4);
}

TEST_P(Bf16Test, BitsDoNotDependOnThreads) {
  constexpr int64_t kRows = 140, kColumns = 200, kDepth = 900;
  GuardedBf16 a(kRows * kDepth, 1), b(kDepth * kColumns, 2);
  auto run = [&](int threads) {
    Pool pool(threads);
    std::vector<float> c(static_cast<size_t>(kRows * kColumns));
    multiply(kRows, Bf16View{a.data(), kDepth},
             packMatrix(Bf16View{b.data(), kColumns}, kDepth, kColumns, pool), c.data(), kColumns, {},
             pool);
    return c;
  };
  std::vector<float> expected = run(1);
  for (int threads : {2, 3, 7})
    EXPECT_EQ(run(threads), expected) << threads << " threads";
}

} // namespace
} // namespace cupel::kernels
