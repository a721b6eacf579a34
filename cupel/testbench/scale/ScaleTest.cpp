#include "cupel/testbench/scale/Claims.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>

using namespace cupel;
using namespace cupel::testbench::scale;

namespace {

std::vector<PlannedTest> tests(size_t count, double seconds, std::string kind = "programs") {
  std::vector<PlannedTest> list;
  for (size_t i = 0; i < count; ++i)
    list.push_back({kind + "::" + std::to_string(i), kind, seconds});
  return list;
}

/// Every test once, and of the class that it needs.
void expectWhole(const Plan &plan, const std::vector<PlannedTest> &list) {
  std::vector<int> seen(list.size());
  for (const Chunk &chunk : plan.chunks) {
    double sum = 0;
    for (const Block &block : chunk.blocks) {
      EXPECT_FALSE(block.tests.empty());
      sum += block.seconds;
      for (uint32_t test : block.tests) {
        ++seen[test];
        EXPECT_EQ(plan.classes[chunk.resources].chips, list[test].chips);
        EXPECT_GE(plan.classes[chunk.resources].memoryBytes == 0 ? uint64_t(4) << 30
                                                                  : plan.classes[chunk.resources].memoryBytes,
                  list[test].memoryBytes);
      }
    }
    EXPECT_NEAR(sum, chunk.seconds, 1e-6);
  }
  EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; }));
}

TEST(Plan, CutsByDurationsIntoChunksThatAreWorthAJob) {
  auto list = tests(1000, 3);
  Plan plan = makePlan(list, {.slots = 6});
  expectWhole(plan, list);
  EXPECT_EQ(plan.chunks.size(), 24u); // Four a slot, of 125 s each.
  for (const Chunk &chunk : plan.chunks)
    EXPECT_GE(chunk.seconds, 60);
  plan = makePlan(list, {});
  EXPECT_EQ(plan.chunks.size(), 50u); // A minute each.
  plan = makePlan(list, {.mostChunks = 7});
  EXPECT_EQ(plan.chunks.size(), 7u);
  plan = makePlan(tests(5, 1), {});
  EXPECT_EQ(plan.chunks.size(), 1u);
  EXPECT_TRUE(makePlan({}, {}).chunks.empty());
  auto instant = tests(100, 0);
  expectWhole(makePlan(instant, {.slots = 3}), instant);
  std::mt19937 random(5);
  auto mixed = tests(777, 0);
  for (PlannedTest &test : mixed)
    test.seconds = std::lognormal_distribution<>(1, 1.5)(random) - 1;
  expectWhole(makePlan(mixed, {.slots = 13}), mixed);
}

TEST(Plan, TakesTheMedianOfItsKindForATestNobodyMeasured) {
  auto list = tests(3, 100, "models");
  for (PlannedTest &test : tests(9, 2, "ops"))
    list.push_back(test);
  list.push_back({"models::new", "models"});
  list.push_back({"ops::new", "ops"});
  list.push_back({"other::new", "other"});
  Plan plan = makePlan(list, {.leastSeconds = 1e9});
  expectWhole(plan, list);
  ASSERT_EQ(plan.chunks.size(), 1u);
  EXPECT_NEAR(plan.chunks[0].seconds, 300 + 18 + 100 + 2 + 2, 1e-9);
}

TEST(Plan, KeepsApartWhatNeedsDifferentMachines) {
  auto list = tests(40, 10);
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].chips = i % 4 == 0 ? 8 : 1;
    list[i].memoryBytes = i % 10 == 0 ? uint64_t(20) << 30 : uint64_t(1) << 30;
  }
  Plan plan = makePlan(list, {});
  expectWhole(plan, list);
  EXPECT_EQ(plan.classes.size(), 4u);
  Result<Plan> again = planFromJson(toJson(plan));
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(toJson(*again), toJson(plan));
  expectWhole(*again, list);
  EXPECT_FALSE(planFromJson("{}"));
  EXPECT_FALSE(planFromJson("rubbish"));
}

TEST(Progress, TakesItsOwnFirstAndThenFromWhoIsLate) {
  Plan plan;
  plan.classes = {{1, 0}, {8, 0}};
  for (uint32_t chunk = 0; chunk < 3; ++chunk)
    plan.chunks.push_back({chunk == 2 ? 1u : 0u, 20, {{12, {chunk * 2}}, {8, {chunk * 2 + 1}}}});
  Progress progress(plan);
  auto take = [&](uint32_t own) {
    auto place = progress.next(own);
    if (place)
      progress.set(*place, Progress::State::Claimed);
    return place;
  };
  EXPECT_EQ(take(0), (BlockPlace{0, 0}));
  EXPECT_EQ(take(0), (BlockPlace{0, 1}));
  EXPECT_EQ(take(0), (BlockPlace{1, 0})); // Stolen.
  EXPECT_EQ(take(1), (BlockPlace{1, 1}));
  EXPECT_FALSE(take(0)); // Never of another class.
  EXPECT_TRUE(progress.isAnythingFree());
  progress.set({0, 1}, Progress::State::Free); // Its owner died.
  EXPECT_EQ(take(1), (BlockPlace{0, 1}));
  for (uint32_t chunk = 0; chunk < 3; ++chunk)
    for (uint32_t block = 0; block < 2; ++block)
      progress.set({chunk, block}, Progress::State::Done);
  EXPECT_TRUE(progress.isDone());
}

struct Folder {
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "cupel-claims-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(Claims, OneOwnerEachHoweverManyTry) {
  Folder folder;
  Plan plan = makePlan(tests(400, 5), {.slots = 4});
  std::mutex mutex;
  std::map<std::string, int> claimed;
  std::vector<std::thread> tasks;
  for (uint32_t task = 0; task < 6; ++task)
    tasks.emplace_back([&, task] {
      Claims claims(folder.path + "/c", plan, 1000);
      ASSERT_TRUE(claims.prepare());
      while (true) {
        auto claim = claims.claim(task % uint32_t(plan.chunks.size()), "task " + std::to_string(task));
        ASSERT_TRUE(claim) << claim.message();
        if (!*claim)
          break;
        {
          std::lock_guard guard(mutex);
          ++claimed[(*claim)->name()];
        }
        ASSERT_TRUE(claims.done(**claim));
      }
    });
  for (std::thread &task : tasks)
    task.join();
  EXPECT_EQ(claimed.size(), plan.blockCount());
  for (const auto &[name, times] : claimed)
    EXPECT_EQ(times, 1) << name;
  Claims claims(folder.path + "/c", plan, 1000);
  ASSERT_TRUE(claims.refresh());
  EXPECT_TRUE(claims.progress().isDone());
}

TEST(Claims, AreTakenOverFromTheDead) {
  Folder folder;
  Plan plan = makePlan(tests(2, 100), {.leastSeconds = 1e9});
  ASSERT_EQ(plan.blockCount(), 2u);
  Claims first(folder.path, plan, 0.3), second(folder.path, plan, 0.3);
  Claim one = **first.claim(0, "n1"), two = **first.claim(0, "n1");
  EXPECT_EQ(one.name(), "0.0.0");
  EXPECT_EQ(two.name(), "0.1.0");
  EXPECT_FALSE(*second.claim(0, "n2"));
  EXPECT_EQ(second.owners().at("0.1.0"), "n1");
  // One of them lives on.
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_TRUE(first.beat(one));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  auto taken = second.claim(0, "n2");
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ((*taken)->name(), "0.1.1");
  EXPECT_FALSE(*second.claim(0, "n2"));
  // Given back, it is free at once.
  ASSERT_TRUE(first.giveBack(one));
  EXPECT_EQ((**second.claim(0, "n2")).name(), "0.0.1");
  ASSERT_TRUE(second.done(**taken));
  ASSERT_TRUE(first.refresh());
  EXPECT_FALSE(first.progress().isDone());
  Claims nowhere(folder.path + "/none", plan, 1);
  EXPECT_FALSE(nowhere.claim(0, "n1"));
}

} // namespace
