#include "cupel/testbench/selection/Shards.h"

#include "cupel/results/Suites.h"
#include "cupel/testbench/selection/Names.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

namespace cupel::testbench::selection {
namespace {

using testing::ElementsAre;

TEST(Shards, ParsesItsOption) {
  Result<Shard> shard = parseShard("2/5");
  ASSERT_TRUE(bool(shard));
  EXPECT_EQ(shard->index, 1u);
  EXPECT_EQ(shard->count, 5u);
  for (const char *bad :
       {"", "2", "0/5", "6/5", "1/0", "a/b", "1/2/3", "-1/3", "1/ 3", "99999999999/3"})
    EXPECT_EQ(std::string(parseShard(bad).message()),
              "--shard " + std::string(bad) + ": expected i/n with i from 1 to n, such as 2/5");
}

TEST(Shards, LongestFirstToTheLeastLoaded) {
  std::vector<std::optional<double>> seconds = {1, 8, 2, 5, 4};
  EXPECT_THAT(assignShards(seconds, 2), ElementsAre(1, 0, 0, 1, 1));
  EXPECT_THAT(assignShards(seconds, 1), ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(assignShards({}, 3), ElementsAre());
}

TEST(Shards, UnknownDurationsCountAsTheAverage) {
  std::vector<std::optional<double>> none(10);
  std::vector<uint32_t> shards = assignShards(none, 3);
  for (uint32_t s = 0; s < 3; ++s)
    EXPECT_THAT(std::count(shards.begin(), shards.end(), s),
                testing::AllOf(testing::Ge(3), testing::Le(4)));
  std::vector<std::optional<double>> some = {10, std::nullopt, 30,
                                             std::numeric_limits<double>::quiet_NaN(), -1};
  EXPECT_THAT(assignShards(some, 2), ElementsAre(1, 1, 0, 1, 0)); // 30+20 and 20+20+10.
  std::vector<std::optional<double>> zeros(9, 0.0);
  shards = assignShards(zeros, 3);
  for (uint32_t s = 0; s < 3; ++s)
    EXPECT_EQ(std::count(shards.begin(), shards.end(), s), 3);
}

TEST(Shards, EveryItemIsInOneShardAndLoadsAreBalanced) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::optional<double>> seconds(1 + random() % 500);
    for (auto &s : seconds)
      if (random() % 4)
        s = double(random() % 1000) / 10;
    uint32_t count = 1 + random() % 9;
    std::vector<uint32_t> shards = assignShards(seconds, count);
    ASSERT_EQ(shards.size(), seconds.size());
    EXPECT_EQ(shards, assignShards(seconds, count));
    std::vector<double> loads(count, 0);
    double longest = 0, known = 0, sum = 0;
    for (auto &s : seconds)
      if (s) {
        sum += *s;
        ++known;
      }
    double average = known && sum > 0 ? sum / known : 1;
    for (size_t i = 0; i < shards.size(); ++i) {
      ASSERT_LT(shards[i], count);
      double cost = seconds[i].value_or(average);
      loads[shards[i]] += cost;
      longest = std::max(longest, cost);
    }
    // What greedy assignment guarantees.
    EXPECT_LE(*std::max_element(loads.begin(), loads.end()) -
                  *std::min_element(loads.begin(), loads.end()),
              longest + 1e-9);
  }
}

TEST(Names, AreTakenApart) {
  using N = ItemName;
  EXPECT_EQ(parseItemName("a/pytorch-x"), (N{"", "", "", "", "a/pytorch-x"}));
  EXPECT_EQ(parseItemName("llm::a/pytorch-x"), (N{"llm", "", "", "", "a/pytorch-x"}));
  EXPECT_EQ(
      parseItemName("tests/runner/test_models.py::test_all_models_torch[a/b.c-d]"),
      (N{"models", "pytorch", "tests/runner/test_models.py", "test_all_models_torch", "a/b.c-d"}));
  EXPECT_EQ(parseItemName("./tests/runner/test_models.py::test_llms_torch"),
            (N{"llm", "pytorch", "./tests/runner/test_models.py", "test_llms_torch", ""}));
  EXPECT_EQ(parseItemName("t.py::test_other[x[1]]"), (N{"", "", "t.py", "test_other", "x[1]"}));
  EXPECT_EQ(parseItemName("test_all_models[q]"), (N{"models", "", "", "test_all_models", "q"}));
  EXPECT_EQ(parseItemName("tests/runner/test_models.py"),
            (N{"", "", "tests/runner/test_models.py", "", ""}));
  EXPECT_EQ(parseItemName("std::vector"), (N{"", "", "", "", "std::vector"}));
  EXPECT_EQ(parseItemName(""), N{});
}

TEST(Names, FunctionsOfSuites) {
  EXPECT_EQ(results::pytestFunctionOf("models", "pytorch"), "test_all_models_torch");
  EXPECT_EQ(results::pytestFunctionOf("models", "jax"), "test_all_models_jax");
  EXPECT_EQ(results::pytestFunctionOf("llm", "pytorch"), "test_llms_torch");
  EXPECT_EQ(results::pytestFunctionOf("op_by_op", "jax"), "test_all_models_op_by_op");
  EXPECT_EQ(results::pytestFunctionOf("placeholder", ""), "test_placeholder_models");
  EXPECT_EQ(results::pytestFunctionOf("programs", ""), "");
}

} // namespace
} // namespace cupel::testbench::selection
