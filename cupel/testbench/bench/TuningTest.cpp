#include "cupel/testbench/bench/Tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::bench {
namespace {

using ::testing::HasSubstr;

Tuning tuned(std::vector<std::pair<int64_t, double>> samplesPerSecond) {
  Tuning tuning{.key = "k", .model = "a<b>.onnx", .device = "cupel", .threads = 2, .points = {}};
  for (auto [batch, rate] : samplesPerSecond)
    tuning.points.push_back({.batch = batch, .seconds = double(batch) / rate, .first = {1, 2}, .peakBytes = 5e6, .sram = "", .failure = ""});
  return tuning;
}

TEST(Tuning, GoesOnWhileItBringsSomething) {
  EXPECT_EQ(tuned({}).reasonToStop(), "");
  EXPECT_EQ(tuned({{1, 100}, {2, 190}, {4, 350}}).reasonToStop(), "");
  EXPECT_EQ(tuned({{1, 100}, {2, 190}, {4, 192}}).reasonToStop(), ""); // One may be noise.
  EXPECT_EQ(tuned({{1, 100}, {2, 190}, {4, 192}, {8, 191}}).reasonToStop(), "throughput has flattened");
  EXPECT_EQ(tuned({{1, 100}, {2, 190}, {4, 180}, {8, 150}}).reasonToStop(), "throughput falls");
}

TEST(Tuning, EndsWhereMemoryDoes) {
  Tuning tuning = tuned({{1, 100}, {2, 190}});
  tuning.points.push_back({.batch = 4, .seconds = 0, .first = {}, .peakBytes = {}, .sram = "", .failure = "RESOURCE_EXHAUSTED: it needs more"});
  EXPECT_EQ(tuning.reasonToStop(), "memory ends at a batch of 4");
  EXPECT_EQ(tuning.winner()->batch, 2);
  tuning.points.back().failure = "it crashed";
  EXPECT_EQ(tuning.reasonToStop(), "a batch of 4 does not run: it crashed");
}

TEST(Tuning, TheSmallestThatIsAsGoodWins) {
  Tuning tuning = tuned({{1, 100}, {2, 197}, {4, 200}, {8, 190}});
  EXPECT_EQ(tuning.winner()->batch, 2);
  EXPECT_THAT(tuning.why(), HasSubstr("a batch of 2 gives 197.0 samples/s, 10.152 ms a run; 4 would give +2 % for 2.0 times the latency"));
  tuning.points[1].sram = "9 buffers in 4096 bytes, 0 spilled";
  tuning.points[3].sram = "7 buffers in 8192 bytes, 3 spilled";
  EXPECT_THAT(tuning.why(), HasSubstr("from 8 on 3 buffers find no room in SRAM (here 0)"));
  EXPECT_EQ(tuned({}).why(), "no batch size ran");
}

TEST(Tuning, IsShownAndKept) {
  Tuning tuning = tuned({{1, 100}, {2, 190}});
  EXPECT_THAT(asText(tuning), HasSubstr("################################ <-"));
  std::string svg = asSvg(tuning);
  EXPECT_THAT(svg, HasSubstr("a&lt;b&gt;.onnx"));
  EXPECT_THAT(svg, HasSubstr("batch 2: 190.0 samples/s"));
  Result<Tuning> back = tuningFromJson(asJson(tuning).dump());
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(asJson(*back), asJson(tuning));
  EXPECT_EQ(back->find(2)->samplesPerSecond(), tuning.find(2)->samplesPerSecond());
  EXPECT_EQ(back->find(3), nullptr);
  for (const char *broken : {"", "[]", "{}", R"({"points": 3})", R"({"points": [3]})"})
    EXPECT_FALSE(tuningFromJson(broken)) << broken;
}

} // namespace
} // namespace cupel::testbench::bench
