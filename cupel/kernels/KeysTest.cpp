#include "cupel/kernels/Keys.h"

#include "cupel/kernels/IsaTesting.h"

#include <bit>
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <vector>

namespace cupel::kernels {
namespace {

class KeysTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, KeysTest, everyIsa(), nameOfIsa);

TEST_P(KeysTest, KeysAreKeptWithTheirPlaces) {
  for (bool isLast : {false, true}) {
    std::vector<uint32_t> least(37), places(37, 7), keys(37);
    for (uint32_t i = 0; i < 37; ++i) {
      least[i] = 0x80000000u + i % 3;
      keys[i] = i % 2 ? 0x80000001u : i;
    }
    std::vector<uint32_t> before = least;
    keepLeast(keys.data(), 37, 9, isLast, least.data(), places.data());
    for (uint32_t i = 0; i < 37; ++i) {
      bool takes = keys[i] < before[i] || (isLast && keys[i] == before[i]);
      EXPECT_EQ(places[i], takes ? 9u : 7u) << i;
      EXPECT_EQ(least[i], takes ? keys[i] : before[i]) << i;
    }
  }
}

TEST_P(KeysTest, FloatsHaveTheOrderOfTheirKeys) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> floats = {-kInfinity, -3, -1e-40f, -0.0f, 0.0f, 1e-40f, 2, kInfinity};
  while (floats.size() < 37)
    floats.push_back(std::numeric_limits<float>::quiet_NaN());
  std::vector<uint32_t> bits, keys(floats.size());
  for (float one : floats)
    bits.push_back(std::bit_cast<uint32_t>(one));
  for (uint32_t flip : {0u, ~0u}) {
    floatKeys(bits.data(), int64_t(bits.size()), {0x7f800000, 0x80000000, flip, ~0u}, keys.data());
    for (size_t i = 0; i < 8; ++i)
      for (size_t j = 0; j < 8; ++j)
        EXPECT_EQ(keys[i] < keys[j], flip ? floats[i] > floats[j] : floats[i] < floats[j]) << i << ", " << j;
    EXPECT_EQ(keys[3], keys[4]);
    for (size_t i = 8; i < keys.size(); ++i)
      EXPECT_EQ(keys[i], ~0u);
  }
  floatKeys(bits.data(), int64_t(bits.size()), {0x7fffffff, 0, 0, 0}, keys.data()); // By bits.
  EXPECT_LT(keys[3], keys[4]);
}

/// Both ways round, and of equal ones the first or the last: with the bits of floats and their keys.
template <typename F> void forEachOrder(const std::vector<float> &floats, F &&body) {
  std::vector<uint32_t> bits, keys(floats.size());
  for (float one : floats)
    bits.push_back(std::bit_cast<uint32_t>(one));
  for (uint32_t flip : {0u, ~0u}) {
    FloatOrder order{0x7f800000, 0x80000000, flip, ~0u};
    floatKeys(bits.data(), int64_t(bits.size()), order, keys.data());
    for (bool isLast : {false, true})
      body(bits, keys, order, isLast);
  }
}

TEST_P(KeysTest, TheFirstOrTheLastOfTheLeastIsFoundInEveryLine) {
  for (int64_t count : {1, 3, 16, 17, 64, 255, 256, 257, 700}) {
    constexpr int64_t kLines = 9;
    std::vector<float> floats(size_t(kLines * count));
    for (size_t i = 0; i < floats.size(); ++i)
      floats[i] = float(int((i * 7919) % 23) - 11); // Equal ones in all lines that are long enough.
    if (count > 2)
      floats[size_t(4 * count + 1)] = std::numeric_limits<float>::quiet_NaN();
    forEachOrder(floats, [&](const std::vector<uint32_t> &bits, const std::vector<uint32_t> &keys, const FloatOrder &order, bool isLast) {
      std::vector<LeastKey> found(kLines);
      leastOfLines(bits.data(), kLines, count, order, isLast, found.data());
      for (int64_t line = 0; line < kLines; ++line) {
        const uint32_t *of = keys.data() + line * count;
        uint32_t place = 0, greatest = of[0];
        for (uint32_t i = 1; i < uint32_t(count); ++i) {
          place = of[i] < of[place] || (isLast && of[i] == of[place]) ? i : place;
          greatest = std::max(greatest, of[i]);
        }
        EXPECT_EQ(found[size_t(line)].place, place) << count << ", " << line << ", " << isLast;
        EXPECT_EQ(found[size_t(line)].key, of[place]);
        EXPECT_EQ(found[size_t(line)].greatest, greatest);
      }
    });
  }
}

TEST_P(KeysTest, TheFirstOrTheLastOfTheLeastIsFoundInEveryColumn) {
  constexpr int64_t kStep = 150;
  for (int64_t rows : {1, 2, 21})
    for (int64_t columns : {16, 37, 64, 129}) {
      std::vector<float> floats(size_t(rows * kStep));
      for (size_t i = 0; i < floats.size(); ++i)
        floats[i] = i % 53 == 7 ? -0.0f : float(int((i * 7919) % 13) - 6);
      floats[5] = std::numeric_limits<float>::quiet_NaN();
      forEachOrder(floats, [&](const std::vector<uint32_t> &bits, const std::vector<uint32_t> &keys, const FloatOrder &order, bool isLast) {
        std::vector<uint32_t> least(size_t(columns) + 1, 77), places = least, greatest = least;
        ASSERT_TRUE(leastOfColumns({bits.data(), kStep, rows, columns, least.data(), places.data(), greatest.data()}, order, isLast));
        for (size_t j = 0; j < size_t(columns); ++j) {
          auto at = [&](uint32_t k) { return keys[size_t(k * kStep) + j]; };
          uint32_t place = 0, most = at(0);
          for (uint32_t k = 1; k < uint32_t(rows); ++k) {
            place = at(k) < at(place) || (isLast && at(k) == at(place)) ? k : place;
            most = std::max(most, at(k));
          }
          EXPECT_EQ(places[j], place) << rows << " x " << columns << ", " << j << ", " << isLast;
          EXPECT_EQ(least[j], at(place));
          EXPECT_EQ(greatest[j], most);
        }
        EXPECT_EQ(least.back() + places.back() + greatest.back(), 3 * 77u) << "behind the columns";
      });
    }
}

TEST_P(KeysTest, TheFirstOfLinesAreFoundInOrder) {
  const int64_t lines = linesAtOnce();
  for (int64_t count : {1, 2, 3, 5, 8, 16, 61})
    for (uint32_t kinds : {2u, 7u, 1000u}) // Many equal ones, or few.
      for (int64_t first = 1; first <= std::min(count, kMostFirst); ++first) {
        std::vector<uint32_t> keys(size_t(lines * count)), places(size_t(kMostFirst * kMostLinesAtOnce), 77);
        uint32_t state = 1;
        for (uint32_t &key : keys) {
          state = state * 1664525 + 1013904223;
          const uint32_t kind = (state >> 16) % kinds;
          key = kind == 0 ? ~0u : kind == 1 ? 0x80000000u : kind;
        }
        firstOfLines(keys.data(), count, first, places.data());
        for (int64_t line = 0; line < lines; ++line) {
          std::vector<uint32_t> order(static_cast<size_t>(count));
          std::iota(order.begin(), order.end(), 0u);
          auto keyOf = [&](uint32_t place) { return keys[size_t(line * count + place)]; };
          std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return std::pair(keyOf(a), a) < std::pair(keyOf(b), b); });
          for (int64_t k = 0; k < first; ++k)
            EXPECT_EQ(places[size_t(k * lines + line)], order[size_t(k)]) << count << ", " << first << ", line " << line << ", " << k;
        }
      }
}

} // namespace
} // namespace cupel::kernels
