// What the reference computed is found again for the same test alone, and damage is noticed.

#include "cupel/testbench/worker/GoldenCache.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Tensor;

class GoldenCacheTest : public testing::Test {
protected:
  GoldenCacheTest() {
    std::string pattern = testing::TempDir() + "cupel-golden-XXXXXX";
    folder = mkdtemp(pattern.data());
    setenv("CUPEL_CACHE_DIR", folder.c_str(), 1);
  }
  ~GoldenCacheTest() override {
    unsetenv("CUPEL_CACHE_DIR");
    unsetenv("CUPEL_GOLDEN_CACHE");
    std::filesystem::remove_all(folder);
  }
  Prepared prepare(const std::string &op, float value) {
    auto read = reader.read("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo." +
                                op + " %x : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}",
                            "program.mlir");
    EXPECT_TRUE(read) << read.message();
    Prepared prepared{std::move(*read), {}, {}};
    prepared.workload.inputs.push_back({Tensor::of<DType::F32>({2}, {value, 1.0f})});
    return prepared;
  }

  std::string folder;
  ProgramReader reader;
};

TensorLists results() {
  return {{Tensor::of<DType::F32>({2}, {1.5f, -2.0f}), Tensor::of<DType::I1>({}, {1})},
          {Tensor::of<DType::I64>({0, 3}, {}), Tensor::of<DType::C64>({1}, {{1.0f, 2.0f}})}};
}

void expectEqual(const TensorLists &a, const TensorLists &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t l = 0; l < a.size(); ++l) {
    ASSERT_EQ(a[l].size(), b[l].size());
    for (size_t t = 0; t < a[l].size(); ++t) {
      EXPECT_EQ(tensor::describe(a[l][t].elementType(), a[l][t].shape()),
                tensor::describe(b[l][t].elementType(), b[l][t].shape()));
      EXPECT_EQ(std::memcmp(a[l][t].data(), b[l][t].data(), size_t(a[l][t].byteSize())), 0);
    }
  }
}

TEST_F(GoldenCacheTest, FindsTheResultsOfATest) {
  GoldenCache cache;
  std::string key = cache.keyOf(prepare("negate", 1), "");
  EXPECT_EQ(key.size(), 64u);
  EXPECT_FALSE(cache.find(key));
  cache.keep(key, results());
  auto found = GoldenCache().find(key);
  ASSERT_TRUE(found);
  expectEqual(*found, results());
}

TEST_F(GoldenCacheTest, TellsTestsApart) {
  GoldenCache cache;
  Prepared seeded = prepare("negate", 1), wide = prepare("negate", 1), two = prepare("negate", 1);
  seeded.budget.seed = 7;
  wide.budget.wideSums = true;
  two.workload.inputs.push_back(two.workload.inputs.front());
  std::vector<std::string> keys = {cache.keyOf(prepare("negate", 1), ""),
                                   cache.keyOf(prepare("negate", 2), ""),
                                   cache.keyOf(prepare("abs", 1), ""),
                                   cache.keyOf(prepare("negate", 1), "jitter 1"),
                                   cache.keyOf(seeded, ""),
                                   cache.keyOf(wide, ""),
                                   cache.keyOf(two, "")};
  EXPECT_EQ(keys[0], cache.keyOf(prepare("negate", 1), ""));
  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(keys[i], keys[j]) << i << " " << j;
}

TEST_F(GoldenCacheTest, CanBeOff) {
  setenv("CUPEL_GOLDEN_CACHE", "0", 1);
  GoldenCache cache;
  std::string key = cache.keyOf(prepare("negate", 1), "");
  EXPECT_EQ(key, "");
  cache.keep(key, results());
  EXPECT_FALSE(cache.find(key));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(GoldenCacheTest, KeepsLargeResultsAsTheyLie) {
  Tensor large = *Tensor::zeros(DType::F32, {300, 200});
  for (int64_t i = 0; i < large.size(); ++i)
    large.mutableAs<float>()[i] = float(i);
  const TensorLists lists = {{large.transposed(std::vector<int64_t>{1, 0}), results()[0][0]}, {large}};
  GoldenCache cache;
  std::string key = cache.keyOf(prepare("negate", 1), "");
  cache.keep(key, lists);
  auto found = GoldenCache().find(key);
  ASSERT_TRUE(found);
  expectEqual(*found, *unpacked(*packed(lists)));
  EXPECT_EQ((*found)[0][0].dataAs<float>()[1], 200);
}

TEST_F(GoldenCacheTest, PartsOfTestsAreNotRemembered) {
  Prepared part = prepare("negate", 1);
  part.isRemembered = false;
  EXPECT_EQ(GoldenCache().keyOf(part, ""), "");
}

TEST(GoldenBytes, BytesThatAreNoResultsAreNone) {
  std::string whole = *packed(results());
  ASSERT_TRUE(unpacked(whole));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(unpacked(std::string_view(whole).substr(0, size))) << size;
  EXPECT_FALSE(unpacked(whole + "x"));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = char(damaged[i] ^ 0x80);
    (void)unpacked(damaged); // Any answer, no crash.
  }
}

} // namespace
} // namespace cupel::testbench::worker
