#include "cupel/testbench/bench/LineProcess.h"
#include "cupel/testbench/bench/Report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::bench {
namespace {

Contestant ranIn(std::string name, bool isPeer, std::vector<double> times) {
  Contestant one;
  one.name = std::move(name);
  one.isPeer = isPeer;
  one.latency.steady = std::move(times);
  return one;
}

TEST(Latency, PercentilesAreTimesThatWereMeasured) {
  Latency latency;
  for (int i = 100; i >= 1; --i)
    latency.steady.push_back(i);
  EXPECT_EQ(latency.percentile(0), 1);
  EXPECT_EQ(latency.percentile(50), 50);
  EXPECT_EQ(latency.percentile(90), 90);
  EXPECT_EQ(latency.percentile(99), 99);
  EXPECT_EQ(latency.percentile(100), 100);
  EXPECT_DOUBLE_EQ(latency.throughput(), 100.0 / 5050);
}

TEST(Latency, OneRunIsEveryPercentile) {
  Latency latency{{}, {2}};
  EXPECT_EQ(latency.percentile(0), 2);
  EXPECT_EQ(latency.percentile(99), 2);
}

TEST(Measurement, WrongPeersAndThoseThatDidNotRunAreNotTheBest) {
  Measurement m;
  m.contestants = {ranIn("cpu", false, {2}), ranIn("wrong", true, {1}), ranIn("right", true, {4}),
                   ranIn("absent", true, {})};
  m.contestants[1].isWrong = true;
  m.contestants[3].failure = "No module named 'absent'";
  ASSERT_NE(m.bestPeer(), nullptr);
  EXPECT_EQ(m.bestPeer()->name, "right");
  nlohmann::ordered_json json = asJson(m);
  EXPECT_EQ(json["best_peer"], "right");
  EXPECT_DOUBLE_EQ(json["contestants"][0]["ratio_to_best_peer"].get<double>(), 0.5);
  EXPECT_FALSE(json["contestants"][1].contains("ratio_to_best_peer"));
  std::string text = asText(m);
  EXPECT_NE(text.find("absent: not run: No module named 'absent'"), std::string::npos) << text;
  EXPECT_NE(text.find("wrong: WRONG"), std::string::npos) << text;
  EXPECT_NE(text.find("cpu: 0.50 of the time of the best peer, right"), std::string::npos) << text;
}

TEST(Measurement, WithoutAPeerThereIsNoRatio) {
  Measurement m;
  m.contestants = {ranIn("cpu", false, {2})};
  EXPECT_EQ(m.bestPeer(), nullptr);
  EXPECT_FALSE(asJson(m)["contestants"][0].contains("ratio_to_best_peer"));
}

volatile std::sig_atomic_t gNever = 0, gStopped = 1;

TEST(LineProcess, AnswersAndEnvironment) {
  LineProcess process;
  ASSERT_TRUE(process.start({"sh", "-c", "read x; echo \"$x $BENCH_WORD\""}, {"BENCH_WORD=two"},
                            "/dev/null"));
  ASSERT_TRUE(process.write("one"));
  Result<std::string> line = process.readLine(10, gNever);
  ASSERT_TRUE(line) << line.message();
  EXPECT_EQ(*line, "one two");
}

TEST(LineProcess, SaysHowItEnded) {
  std::string errors = ::testing::TempDir() + "line-process-errors";
  LineProcess process;
  ASSERT_TRUE(process.start({"sh", "-c", "echo why >&2; exit 3"}, {}, errors));
  Result<std::string> line = process.readLine(10, gNever);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.message(), "ended with exit code 3: why");
  EXPECT_FALSE(process.isRunning());
}

TEST(LineProcess, DoesNotWaitForOneThatHangsNorAfterAnInterrupt) {
  LineProcess process;
  ASSERT_TRUE(process.start({"sleep", "100"}, {}, "/dev/null"));
  EXPECT_FALSE(process.readLine(0.1, gNever));
  Result<std::string> line = process.readLine(100, gStopped);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.message(), "interrupted");
  process.kill();
  EXPECT_FALSE(process.isRunning());
}

TEST(LineProcess, NamesACommandThatIsNotThere) {
  LineProcess process;
  Status started = process.start({"/nowhere/at-all"}, {}, "/dev/null");
  ASSERT_FALSE(started);
  EXPECT_NE(started.message().find("/nowhere/at-all"), std::string::npos);
}

} // namespace
} // namespace cupel::testbench::bench
