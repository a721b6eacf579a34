#include "cupel/support/ThreadPool.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using cupel::runPieces;

TEST(ThreadPoolTest, EveryPieceRunsOnce) {
  for (int threads : {1, 2, 3, 7, 64})
    for (int64_t count : {0, 1, 2, 100, 10'000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      runPieces(count, threads, [&](int64_t i) { ++seen[static_cast<size_t>(i)]; });
      for (auto &times : seen)
        ASSERT_EQ(times, 1) << count << " pieces on " << threads << " threads";
    }
}

TEST(ThreadPoolTest, HelpersWork) {
  // Two pieces that wait for each other end only if two threads run them.
  std::atomic<int> arrived = 0;
  runPieces(2, 2, [&](int64_t) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

/// Told to look out again and again, with pieces behind it or without any: no helper stays away.
TEST(ThreadPoolTest, HelpersThatLookedOutInVainWorkAgain) {
  for (int i = 0; i < 50; ++i) {
    cupel::expectBriefPieces(4);
    if (i % 3 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(300)); // They sleep again.
    std::atomic<int> arrived = 0;
    cupel::runBriefPieces(2, 2, [&](int64_t) {
      ++arrived;
      while (arrived < 2)
        std::this_thread::yield();
    });
    ASSERT_EQ(arrived, 2);
  }
}

TEST(ThreadPoolTest, InnerCallsRunInPlace) {
  std::atomic<int> total = 0;
  runPieces(8, 4, [&](int64_t) {
    auto outer = std::this_thread::get_id();
    runPieces(8, 4, [&](int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      ++total;
    });
  });
  EXPECT_EQ(total, 64);
}

TEST(ThreadPoolTest, ManyCallersShareThePool) {
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        runPieces(16, 3, [&](int64_t i) { total += i; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(total, 8 * 200 * 120);
}

TEST(ThreadPoolTest, AForkedProcessDoesWithoutHelpers) {
  runPieces(8, 4, [](int64_t) {});
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> total = 0;
    runPieces(8, 4, [&](int64_t) { ++total; });
    _exit(total == 8 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

} // namespace
