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

/// A helper that is held up keeps what it has begun and loses the rest: the others do that, whoever
/// had it.
TEST(ThreadPoolTest, OthersTakeWhatALateHelperHasLeft) {
  for (int threads : {2, 3, 5}) {
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> helped = 0, done = 0;
    runPieces(60, threads, [&](int64_t) {
      bool isHelper = std::this_thread::get_id() != caller;
      if (isHelper && helped++ < threads - 1)
        while (done < 60 - (threads - 1))
          std::this_thread::yield(); // Until all others are done: only those who are not held up
                                     // can have run them.
      else if (!isHelper)
        while (helped < threads - 1)
          std::this_thread::yield();
      ++done;
    });
    EXPECT_EQ(done, 60);
  }
}

/// Each thread has neighbouring pieces, and the same ones in the next job.
TEST(ThreadPoolTest, SharesAreNeighbours) {
  for (int64_t count : {2, 7, 60})
    for (int threads : {2, 3, 5}) {
      EXPECT_EQ(cupel::beginOfShare(count, threads, 0), 0);
      EXPECT_EQ(cupel::beginOfShare(count, threads, threads), count);
      for (int i = 0; i < threads; ++i) {
        int64_t size =
            cupel::beginOfShare(count, threads, i + 1) - cupel::beginOfShare(count, threads, i);
        EXPECT_GE(size, count / threads);
        EXPECT_LE(size, count / threads + 1);
      }
    }
  // A helper that comes late from another job may take a piece; mostly it is the one whose they
  // are.
  constexpr int kRounds = 20;
  std::vector<std::thread::id> last;
  int alike = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread::id> by(8);
    std::atomic<int> arrived =
        0; // Everybody has begun before anybody is done with the first piece.
    cupel::runBriefPieces(8, 2, [&](int64_t i) {
      by[static_cast<size_t>(i)] = std::this_thread::get_id();
      if (i == 0 || i == 7) {
        ++arrived;
        while (arrived < 2)
          std::this_thread::yield();
      }
    });
    EXPECT_NE(by.back(), by.front());
    alike += by.front() == std::this_thread::get_id() && !last.empty() && by.back() == last.back();
    last = by;
  }
  EXPECT_GT(alike, kRounds / 2);
}

/// Jobs of several callers begin and end at any time, with helpers that come late to some of them.
TEST(ThreadPoolTest, BriefJobsOfManyCallersLoseNothing) {
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&, c] {
      for (int round = 0; round < 5000; ++round) {
        std::atomic<int64_t> own = 0;
        cupel::runBriefPieces(2 + (round + c) % 7, 2 + round % 4, [&](int64_t i) { own += i + 1; });
        int64_t count = 2 + (round + c) % 7;
        ASSERT_EQ(own, count * (count + 1) / 2);
        total += own;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_GT(total, 0);
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
