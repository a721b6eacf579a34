#include "cupel/kernels/Fft.h"

#include "cupel/kernels/IsaTesting.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numbers>
#include <random>

namespace cupel::kernels {
namespace {

class FftTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, FftTest, everyIsa(), nameOfIsa);

using Complex = std::complex<double>;

std::vector<Complex> slow(const std::vector<Complex> &x, double sign) {
  std::vector<Complex> y(x.size());
  for (size_t r = 0; r < x.size(); ++r)
    for (size_t k = 0; k < x.size(); ++k)
      y[r] += x[k] * std::polar(1.0, sign * 2 * std::numbers::pi * double(r * k % x.size()) /
                                         double(x.size()));
  return y;
}

template <typename T> double errorBound(int64_t length) {
  return double(std::numeric_limits<T>::epsilon()) * 8 * (1 + std::log2(double(length))) *
         std::sqrt(double(length));
}

template <typename T> void check(int64_t length, int64_t lines, int threads) {
  SCOPED_TRACE(std::to_string(lines) + " lines of " + std::to_string(length));
  std::mt19937 random(7);
  std::normal_distribution<T> normal;
  std::vector<std::complex<T>> x(size_t(length * lines)), y(x.size()), back(x.size());
  std::vector<T> reals(x.size()), again(x.size());
  for (auto &value : x)
    value = {normal(random), normal(random)};
  for (auto &value : reals)
    value = normal(random);
  Pool pool(threads);
  Fft<T> fft(length);
  FftLines all{lines, 1, length, 0, 1};
  fft.transform(x.data(), all, y.data(), all, false, T(1), pool);
  fft.transform(y.data(), all, back.data(), all, true, T(1) / T(length), pool);
  int64_t kept = length / 2 + 1;
  std::vector<std::complex<T>> spectrum(size_t(kept * lines));
  FftLines short_{lines, 1, kept, 0, 1};
  fft.transformReals(reals.data(), all, spectrum.data(), short_, pool);
  fft.transformToReals(spectrum.data(), short_, again.data(), all, T(1) / T(length), pool);
  double bound = errorBound<T>(length);
  for (int64_t line = 0; line < lines; ++line) {
    std::vector<Complex> one(x.begin() + line * length, x.begin() + (line + 1) * length);
    std::vector<Complex> real(reals.begin() + line * length, reals.begin() + (line + 1) * length);
    std::vector<Complex> expected = slow(one, -1), ofReals = slow(real, -1);
    for (int64_t k = 0; k < length; ++k) {
      ASSERT_LE(std::abs(Complex(y[size_t(line * length + k)]) - expected[size_t(k)]), bound) << k;
      ASSERT_LE(std::abs(Complex(back[size_t(line * length + k)]) - one[size_t(k)]), bound) << k;
      ASSERT_LE(std::abs(double(again[size_t(line * length + k)]) - real[size_t(k)].real()), bound);
    }
    for (int64_t k = 0; k < kept; ++k)
      ASSERT_LE(std::abs(Complex(spectrum[size_t(line * kept + k)]) - ofReals[size_t(k)]), bound) << k;
  }
}

TEST_P(FftTest, AgreesWithTheSumsOfTheDefinition) {
  for (int64_t length : {1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 21, 30, 49, 64, 105, 128})
    for (int64_t lines : {1, 13}) {
      check<float>(length, lines, 2);
      check<double>(length, lines, 2);
    }
  for (int64_t length : {256, 384})
    check<float>(length, 1, 2), check<double>(length, 1, 2);
}

TEST_P(FftTest, LinesAcrossAndThreadsChangeNothing) {
  constexpr int64_t length = 60, many = 37; // No matrix on any instruction set.
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<std::complex<float>> across(length * many), along(length * many);
  for (int64_t k = 0; k < length; ++k)
    for (int64_t line = 0; line < many; ++line)
      across[size_t(k * many + line)] = along[size_t(line * length + k)] = {normal(random), normal(random)};
  Fft<float> fft(length);
  FftLines rows{many, 1, length, 0, 1}, columns{1, many, 0, 1, many};
  fft.transform(along.data(), rows, along.data(), rows, false, 1, Pool(1));
  fft.transform(across.data(), columns, across.data(), columns, false, 1, Pool(3));
  for (int64_t k = 0; k < length; ++k)
    for (int64_t line = 0; line < many; ++line)
      EXPECT_EQ(across[size_t(k * many + line)], along[size_t(line * length + k)]);
}

/// One impulse: every result is a root of one, whatever the length.
TEST_P(FftTest, LongLinesByThemselvesAndAcross) {
  for (int64_t length : {4096, 3 * 4096, 1 << 15, 50'000})
    for (int64_t stride : {1, 3}) {
      int64_t at = length / 3;
      std::vector<std::complex<float>> x(size_t(length * stride)), y(x.size()), again(x.size());
      std::vector<float> reals(x.size()), back(x.size());
      reals[size_t(at * stride)] = 1;
      x[size_t(at * stride)] = 1;
      Fft<float> fft(length);
      FftLines lines{1, stride, 0, 1, stride};
      fft.transform(x.data(), lines, y.data(), lines, false, 1, Pool(1));
      fft.transform(x.data(), lines, again.data(), lines, false, 1, Pool(3, Pool::Sharing::Always));
      EXPECT_EQ(std::memcmp(y.data(), again.data(), y.size() * sizeof(y[0])), 0);
      std::vector<std::complex<float>> spectrum(size_t((length / 2 + 1) * stride));
      fft.transformReals(reals.data(), lines, spectrum.data(), lines, Pool(2));
      fft.transformToReals(spectrum.data(), lines, back.data(), lines, 1 / float(length), Pool(2));
      for (int64_t k = 0; k < length; ++k) {
        Complex expected = std::polar(1.0, -2 * std::numbers::pi * double(k * at % length) / double(length));
        ASSERT_LE(std::abs(Complex(y[size_t(k * stride)]) - expected), 1e-6) << length << " " << k;
        if (k <= length / 2)
          ASSERT_LE(std::abs(Complex(spectrum[size_t(k * stride)]) - expected), 1e-6) << length << " " << k;
        ASSERT_NEAR(back[size_t(k * stride)], k == at ? 1 : 0, 1e-6) << length << " " << k;
      }
      fft.transform(y.data(), lines, y.data(), lines, true, 1 / float(length), Pool(2));
      for (size_t k = 0; k < y.size(); ++k)
        ASSERT_LE(std::abs(y[k] - x[k]), 1e-6f) << length << " " << k;
    }
}

TEST(Fft, KnowsItsLengths) {
  EXPECT_TRUE(hasFft(1));
  EXPECT_TRUE(hasFft(2 * 3 * 5 * 7));
  EXPECT_FALSE(hasFft(11));
  EXPECT_FALSE(hasFft(0));
  EXPECT_TRUE(hasFftOfOneLine(1 << 20));
  EXPECT_FALSE(hasFftOfOneLine(3 * 5 * 7 * 9));
}

} // namespace
} // namespace cupel::kernels
