#include "cupel/testbench/runner/Schedule.h"

#include <gtest/gtest.h>

namespace cupel::testbench::runner {
namespace {

std::vector<size_t> upTo(size_t count) {
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = i;
  return all;
}

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(Schedule, LongestFirst) {
  Schedule schedule({{.seconds = 1}, {.seconds = 9}, {}, {.seconds = 2}}, upTo(4), {{}}, 8 * kGiB,
                    2);
  std::vector<size_t> order;
  while (auto test = schedule.take(0)) {
    order.push_back(*test);
    schedule.release(*test, 0);
  }
  EXPECT_EQ(order, (std::vector<size_t>{1, 2, 3, 0})); // The unknown one counts as the mean, 4.
}

TEST(Schedule, GroupsFollowEachOther) {
  Schedule schedule({{.seconds = 1, .group = 2}, {.seconds = 9, .group = 1}, {.seconds = 2},
                     {.seconds = 5, .group = 2}, {.seconds = 1, .group = 1}},
                    upTo(5), {{}}, 8 * kGiB, 1);
  std::vector<size_t> order;
  while (auto test = schedule.take(0)) {
    order.push_back(*test);
    schedule.release(*test, 0);
  }
  EXPECT_EQ(order, (std::vector<size_t>{2, 1, 4, 3, 0}));
}

TEST(Schedule, ChipsAreShared) {
  Schedule schedule({{.chips = 4}, {.chips = 8}, {.chips = 4}, {.chips = 1}}, upTo(4),
                    {{.name = "d", .chips = 8}}, 64 * kGiB, 4);
  EXPECT_EQ(schedule.take(0), 0u);
  EXPECT_EQ(schedule.take(0), 2u) << "the one that needs all waits";
  EXPECT_EQ(schedule.take(0), std::nullopt);
  schedule.release(0, 0);
  EXPECT_EQ(schedule.take(0), 3u);
  schedule.release(2, 0);
  schedule.release(3, 0);
  EXPECT_EQ(schedule.take(0), 1u);
  EXPECT_EQ(schedule.waiting(), 0u);
}

TEST(Schedule, ABigTestDoesNotWaitForEver) {
  std::vector<Forecast> forecasts(1000);
  forecasts[0].chips = 2;
  forecasts[0].seconds = 100;
  Schedule schedule(forecasts, upTo(1000), {{.name = "d", .chips = 2}}, 64 * kGiB, 2);
  // One chip is never free, because small tests come and go.
  size_t busy = 1;
  schedule.putBack(*schedule.take(0), true);
  schedule.release(0, 0);
  std::vector<size_t> running;
  for (size_t i = 0; i < 200; ++i) {
    auto test = schedule.take(0);
    if (!test) {
      ASSERT_FALSE(running.empty());
      schedule.release(running.front(), 0);
      running.erase(running.begin());
      continue;
    }
    if (*test == 0)
      return;
    running.push_back(*test);
    if (running.size() > busy) {
      schedule.release(running.front(), 0);
      running.erase(running.begin());
    }
  }
  FAIL() << "the test that needs two chips never ran";
}

TEST(Schedule, MemoryIsReserved) {
  Schedule schedule({{.memoryBytes = 6 * kGiB}, {.memoryBytes = 6 * kGiB}, {.memoryBytes = kGiB}},
                    upTo(3), {{}}, 9 * kGiB, 2);
  EXPECT_EQ(schedule.take(0), 0u); // 7.5 of 9.
  EXPECT_EQ(schedule.take(0), 2u); // And 1.25.
  EXPECT_EQ(schedule.take(0), std::nullopt);
  schedule.release(0, 0);
  EXPECT_EQ(schedule.take(0), 1u);
}

TEST(Schedule, ATestLargerThanTheMachineRunsAlone) {
  Schedule schedule({{.memoryBytes = 100 * kGiB}, {}}, upTo(2), {{}}, 8 * kGiB, 2);
  EXPECT_EQ(schedule.take(0), 0u);
  EXPECT_EQ(schedule.take(0), std::nullopt);
}

TEST(Schedule, AnIsolatedTestRunsAlone) {
  Schedule schedule({{}, {}, {}}, upTo(3), {{}}, 8 * kGiB, 2);
  EXPECT_EQ(schedule.take(0), 0u);
  EXPECT_EQ(schedule.take(0), 1u);
  schedule.release(0, 0);
  schedule.isolate(0);
  schedule.putBack(0, /*first=*/true);
  EXPECT_EQ(schedule.take(0), 2u); // Goes ahead beside the other.
  EXPECT_EQ(schedule.take(0), std::nullopt);
  schedule.release(1, 0);
  EXPECT_EQ(schedule.take(0), std::nullopt);
  schedule.release(2, 0);
  EXPECT_EQ(schedule.take(0), 0u);
}

TEST(Schedule, HopelessTestsAreTakenOut) {
  Schedule schedule({{.chips = 8}, {.chips = 1}}, upTo(2),
                    {{.name = "a", .chips = 8}, {.name = "b", .chips = 2}}, 8 * kGiB, 2);
  EXPECT_TRUE(schedule.takeHopeless().empty());
  schedule.retire(0);
  auto hopeless = schedule.takeHopeless();
  ASSERT_EQ(hopeless.size(), 1u);
  EXPECT_EQ(hopeless[0].first, 0u);
  EXPECT_EQ(schedule.take(0), std::nullopt);
  EXPECT_EQ(schedule.take(1), 1u);
  schedule.release(1, 1);
  schedule.putBack(1, false);
  schedule.retire(1);
  EXPECT_EQ(schedule.takeHopeless().size(), 1u);
}

} // namespace
} // namespace cupel::testbench::runner
