#include "cupel/kernels/Pool.h"

#include "cupel/support/ThreadPool.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace cupel::kernels {
namespace {

constexpr double kLong = 1e6;

TEST(PoolTest, EveryUnitRunsOnce) {
  for (int threads : {1, 2, 3, 7})
    for (int64_t units : {0, 1, 5, 1000})
      for (double nanoseconds : {0.0, kLong}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(units));
        Pool(threads).parallelFor(units, nanoseconds,
                                  [&](int64_t unit) { ++seen[static_cast<size_t>(unit)]; });
        for (auto &times : seen)
          ASSERT_EQ(times, 1);
      }
}

TEST(PoolTest, TakesTheCoresOfTheProcessUnlessTold) {
  EXPECT_EQ(Pool().threads(), coreCount());
  EXPECT_EQ(Pool(5).threads(), 5);
}

TEST(PoolTest, SmallWorkStaysOnTheCallingThread) {
  auto caller = std::this_thread::get_id();
  for (int round = 0; round < 100; ++round)
    Pool(4).parallelFor(50, 10, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(PoolTest, LongWorkIsShared) {
  std::atomic<int> arrived = 0;
  Pool(2).parallelFor(2, kLong, [&](int64_t) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(PoolTest, ColumnsAreSharedWhereRowsTakeLongerThanMeetingInThem) {
  EXPECT_EQ(Pool(2).threadsForColumns(4096, 50), 1);
  EXPECT_EQ(Pool(2).threadsForColumns(4096, 800), 2);
  EXPECT_EQ(Pool(8).threadsForColumns(4096, 250), 8);
  EXPECT_EQ(Pool(8).threadsForColumns(1, 2000), 1); // Brief work is not shared at all.
  EXPECT_EQ(Pool(2, Pool::Sharing::Always).threadsForColumns(4, 1), 2);
}

TEST(PoolTest, ThreadsHaveAsManyPartsAsOthers) {
  constexpr double kNanoseconds = 100;
  EXPECT_EQ(Pool(2).unitsPerPart(200, kNanoseconds), 200);
  EXPECT_EQ(Pool(2).unitsPerPart(700, kNanoseconds), 175); // 70 microseconds would be three parts of 30.
  EXPECT_EQ(Pool(3).unitsPerPart(700, kNanoseconds), 234);
  EXPECT_EQ(Pool(1).unitsPerPart(700, kNanoseconds), 234);
  EXPECT_EQ(Pool(8).unitsPerPart(2, 1e6), 1);
  EXPECT_EQ(Pool(2).unitsPerPart(0, kNanoseconds), 1);
}

TEST(PoolTest, CallsInsideCallsRunInPlace) {
  Pool pool(3);
  pool.parallelFor(6, kLong, [&](int64_t) {
    auto outer = std::this_thread::get_id();
    pool.parallelFor(6, kLong, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), outer); });
  });
}

TEST(PoolTest, ManyCallersDoNotMultiplyThreads) {
  // Those that work at the same time: callers cannot be helped, but few helpers may join them.
  std::atomic<int> active = 0, most = 0;
  std::vector<std::thread> callers;
  constexpr int kCallers = 8;
  for (int c = 0; c < kCallers; ++c)
    callers.emplace_back([&] {
      Pool pool(2);
      for (int round = 0; round < 200; ++round)
        pool.parallelFor(8, kLong, [&](int64_t) {
          int now = ++active;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          std::this_thread::yield();
          --active;
        });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_LE(most, kCallers + std::max(2, coreCount()) - 1);
}

} // namespace
TEST(PoolTest, EdgesAreWhereThreadsMeet) {
  auto edges = [](int threads, int64_t units) {
    std::vector<int64_t> found;
    for (int64_t unit = 0; unit < units; ++unit)
      if (Pool(threads).isAtEdge(unit, units))
        found.push_back(unit);
    return found;
  };
  EXPECT_EQ(edges(1, 8), std::vector<int64_t>());
  EXPECT_EQ(edges(2, 8), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(edges(2, 7), (std::vector<int64_t>{3, 4})); // The caller has the larger share.
  EXPECT_EQ(edges(3, 9), (std::vector<int64_t>{2, 3, 5, 6}));
}

} // namespace cupel::kernels
