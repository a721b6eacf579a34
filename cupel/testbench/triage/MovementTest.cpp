#include "cupel/testbench/triage/Movement.h"

#include <gtest/gtest.h>

namespace cupel::testbench::triage {
namespace {

using results::Outcome;
using results::Stage;

Sighting seen(std::string id, double at, Outcome outcome, std::optional<double> pcc = {},
              std::string commit = "c") {
  Sighting one;
  one.row.suite = "models";
  one.row.id = std::move(id);
  one.row.run = "run" + std::to_string(int(at));
  one.row.outcome = outcome;
  one.row.lastStage = outcome == Outcome::Passed ? Stage::Done : Stage::Compare;
  one.row.pcc = pcc;
  one.at = at;
  one.commit = std::move(commit);
  return one;
}

TEST(Movement, TellsNewFromFixed) {
  Movement moved =
      movementSince({seen("new", 1, Outcome::Passed), seen("new", 3, Outcome::Failed),
                     seen("new", 4, Outcome::Crashed), seen("fixed", 1, Outcome::Failed),
                     seen("fixed", 3, Outcome::Passed), seen("same", 1, Outcome::Failed),
                     seen("same", 3, Outcome::Failed), seen("added", 3, Outcome::Failed),
                     seen("gone", 1, Outcome::Passed)},
                    2);
  ASSERT_EQ(moved.newFailures.size(), 2u);
  EXPECT_EQ(moved.newFailures[0].name, "models::added");
  EXPECT_EQ(moved.newFailures[0].before, "");
  EXPECT_EQ(moved.newFailures[1].name, "models::new");
  EXPECT_EQ(moved.newFailures[1].run, "run3"); // Where it broke, not where it was seen last.
  EXPECT_EQ(moved.newFailures[1].now, "crashed");
  ASSERT_EQ(moved.fixed.size(), 1u);
  EXPECT_EQ(moved.fixed[0].name, "models::fixed");
  EXPECT_TRUE(moved.flaky.empty());
  EXPECT_TRUE(moved.worse.empty());
}

TEST(Movement, KnownFailuresThatPassAreFixedAndTheOtherWayRound) {
  Movement moved = movementSince({seen("a", 1, Outcome::XFailed), seen("a", 3, Outcome::XPassed),
                                  seen("b", 1, Outcome::Passed), seen("b", 3, Outcome::XFailed)},
                                 2);
  ASSERT_EQ(moved.fixed.size(), 1u);
  EXPECT_EQ(moved.fixed[0].name, "models::a");
  ASSERT_EQ(moved.newFailures.size(), 1u);
}

TEST(Movement, WhatHadNoVerdictSaysNothing) {
  Movement moved = movementSince({seen("a", 1, Outcome::Passed), seen("a", 3, Outcome::NotRun),
                                  seen("b", 1, Outcome::Failed), seen("b", 3, Outcome::Skipped)},
                                 2);
  EXPECT_TRUE(moved.newFailures.empty());
  EXPECT_TRUE(moved.fixed.empty());
}

TEST(Movement, FlakyIsWhatFlipsWithoutAChange) {
  std::vector<Sighting> flips = {seen("a", 1, Outcome::Passed), seen("a", 3, Outcome::Passed),
                                 seen("a", 4, Outcome::Failed), seen("a", 5, Outcome::Passed)};
  Movement moved = movementSince(flips, 2);
  ASSERT_EQ(moved.flaky.size(), 1u);
  EXPECT_EQ(moved.flaky[0].why, "passed, failed, passed");
  // Somebody broke it and somebody mended it.
  flips[2].commit = "d";
  flips[3].commit = "e";
  moved = movementSince(flips, 2);
  EXPECT_TRUE(moved.flaky.empty());
  EXPECT_TRUE(moved.newFailures.empty());
  // One run is enough where its tries differ, and what is flaky is nothing else.
  std::vector<Sighting> tries = {seen("a", 1, Outcome::Failed), seen("a", 3, Outcome::Passed)};
  tries[1].row.flaky = true;
  moved = movementSince(tries, 2);
  EXPECT_EQ(moved.flaky.size(), 1u);
  EXPECT_TRUE(moved.fixed.empty());
}

TEST(Movement, WorseWithoutChangingSides) {
  Sighting early = seen("stage", 3, Outcome::Failed);
  early.row.lastStage = Stage::Compile;
  Movement moved =
      movementSince({seen("pcc", 1, Outcome::Passed, 0.999), seen("pcc", 3, Outcome::Passed, 0.991),
                     seen("stage", 1, Outcome::Failed), early, seen("dies", 1, Outcome::Failed),
                     seen("dies", 3, Outcome::Crashed), seen("better", 1, Outcome::Passed, 0.99),
                     seen("better", 3, Outcome::Passed, 0.999)},
                    2);
  ASSERT_EQ(moved.worse.size(), 3u);
  EXPECT_EQ(moved.worse[0].why, "failed -> crashed");
  EXPECT_EQ(moved.worse[1].why, "pcc 0.999 -> 0.991");
  EXPECT_EQ(moved.worse[2].why, "came to compare, now to compile");
}

TEST(Movement, ArchitecturesAreApart) {
  std::vector<Sighting> both = {seen("a", 1, Outcome::Passed), seen("a", 3, Outcome::Failed)};
  both[0].arch = "n150";
  both[1].arch = "p150";
  Movement moved = movementSince(both, 2);
  ASSERT_EQ(moved.newFailures.size(), 1u);
  EXPECT_EQ(moved.newFailures[0].arch, "p150");
  EXPECT_EQ(moved.newFailures[0].before, ""); // What n150 said is no word on p150.
}

TEST(Movement, DriftIsFromTheLastBeforeToNow) {
  Movement moved =
      movementSince({seen("a", 0, Outcome::Passed, 0.5), seen("a", 1, Outcome::Passed, 0.999),
                     seen("a", 3, Outcome::Passed, 0.998), seen("a", 4, Outcome::Passed, 0.997),
                     seen("a", 5, Outcome::Passed, 0.996), seen("still", 1, Outcome::Passed, 0.999),
                     seen("still", 3, Outcome::Passed, 0.9985)},
                    2);
  ASSERT_EQ(moved.drift.size(), 1u);
  EXPECT_EQ(moved.drift[0].name, "models::a");
  EXPECT_DOUBLE_EQ(moved.drift[0].before, 0.999);
  EXPECT_DOUBLE_EQ(moved.drift[0].now, 0.996);
  EXPECT_EQ(moved.drift[0].runs, 4u);
  EXPECT_NEAR(moved.drift[0].slope, -0.001, 1e-9);
}

} // namespace
} // namespace cupel::testbench::triage
