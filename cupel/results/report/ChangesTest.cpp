#include "cupel/results/report/Changes.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace cupel;
using namespace cupel::results;

namespace {

OutcomeRow row(std::string id, Outcome outcome, double seconds = 1) {
  OutcomeRow r;
  r.suite = "programs";
  r.id = std::move(id);
  r.outcome = outcome;
  r.seconds = seconds;
  return r;
}

std::vector<std::string> names(const std::vector<Change> &changes) {
  std::vector<std::string> result;
  for (const Change &change : changes)
    result.push_back(change.after.id.empty() ? change.before.id : change.after.id);
  return result;
}

using Names = std::vector<std::string>;

TEST(Changes, SortsOutcomesIntoKinds) {
  std::vector before = {row("same", Outcome::Passed),    row("broke", Outcome::Passed),
                        row("mended", Outcome::Crashed), row("known", Outcome::XFailed),
                        row("worse", Outcome::Failed),   row("gone", Outcome::Passed),
                        row("lost", Outcome::Passed),    row("blind", Outcome::Failed)};
  std::vector after = {row("same", Outcome::Passed),    row("broke", Outcome::Failed),
                       row("mended", Outcome::Passed),  row("known", Outcome::XPassed),
                       row("worse", Outcome::TimedOut), row("lost", Outcome::NotRun),
                       row("fresh", Outcome::Passed),   row("freshly broken", Outcome::Failed),
                       row("blind", Outcome::Unjudged)};
  RunChanges changes = compareOutcomes(before, after);
  EXPECT_EQ(names(changes.newFailures), (Names{"broke", "freshly broken", "lost"}));
  EXPECT_EQ(names(changes.fixed), (Names{"mended"}));
  EXPECT_EQ(names(changes.otherwise), (Names{"blind", "known", "worse"}));
  EXPECT_EQ(names(changes.added), (Names{"fresh", "freshly broken"}));
  EXPECT_EQ(names(changes.removed), (Names{"gone"}));
  EXPECT_TRUE(compareOutcomes(before, before).empty());
}

TEST(Changes, AStoppedRunBreaksNothing) {
  std::vector before = {row("a", Outcome::Passed), row("b", Outcome::Passed)};
  std::vector stopped = {row("a", Outcome::Interrupted), row("b", Outcome::NotRun),
                         row("new", Outcome::NotRun)};
  stopped[1].reason = stopped[2].reason = "INTERRUPTED";
  EXPECT_TRUE(compareOutcomes(before, stopped).empty());
  // Nor is what runs again mended.
  RunChanges changes = compareOutcomes(stopped, before);
  EXPECT_TRUE(changes.fixed.empty());
  EXPECT_EQ(names(changes.otherwise), (Names{"a", "b"}));
}

TEST(Changes, AnotherReasonIsAChange) {
  OutcomeRow before = row("a", Outcome::Failed), after = before;
  before.reason = "OUT_OF_MEMORY";
  after.reason = "SEG_FAULT";
  EXPECT_EQ(compareOutcomes(std::span(&before, 1), std::span(&after, 1)).otherwise.size(), 1u);
}

TEST(Changes, SlowerNeedsTheFactorAndMoreThanNoise) {
  auto slower = [](double a, double b, Outcome outcome = Outcome::Passed) {
    OutcomeRow before = row("a", Outcome::Passed, a), after = row("a", outcome, b);
    RunChanges changes = compareOutcomes(std::span(&before, 1), std::span(&after, 1));
    return int(changes.slower.size()) - int(changes.faster.size());
  };
  EXPECT_EQ(slower(1, 2), 1);
  EXPECT_EQ(slower(2, 1), -1);
  EXPECT_EQ(slower(0.01, 0.1), 0); // Ten times, but noise.
  EXPECT_EQ(slower(100, 120), 0);  // Twenty seconds, but a fifth.
  EXPECT_EQ(slower(0, 10), 0);     // It never ran before.
  EXPECT_EQ(slower(1, 60, Outcome::TimedOut), 0);
}

TEST(Changes, FiguresMove) {
  auto moved = [](std::optional<double> pccA, std::optional<double> pccB,
                  std::optional<double> absA = {}, std::optional<double> absB = {}) {
    OutcomeRow before = row("a", Outcome::Passed), after = before;
    before.pcc = pccA;
    after.pcc = pccB;
    before.maxAbsolute = absA;
    after.maxAbsolute = absB;
    return !compareOutcomes(std::span(&before, 1), std::span(&after, 1)).figures.empty();
  };
  double nan = std::numeric_limits<double>::quiet_NaN();
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(moved(0.99, 0.98));
  EXPECT_FALSE(moved(0.9901, 0.9902));
  EXPECT_TRUE(moved(0.99, nan));
  EXPECT_FALSE(moved(nan, nan));
  EXPECT_FALSE(moved(std::nullopt, 0.5)); // There was nothing to compare with.
  EXPECT_TRUE(moved(1, 1, 0.01, 0.5));
  EXPECT_FALSE(moved(1, 1, 1e-9, 1e-6));
  EXPECT_TRUE(moved(1, 1, 0.5, inf));
  EXPECT_FALSE(moved(1, 1, inf, inf));
}

TEST(Changes, ATestIsComparedWithItsOwnLastOutcome) {
  KnownTest known;
  known.suite = "programs";
  known.id = "a";
  known.outcome = Outcome::Failed;
  known.seconds = 1;
  KnownTest other = known;
  other.id = "not selected";
  std::vector after = {row("a", Outcome::Passed, 5)};
  RunChanges changes = compareWithKnown(std::vector{known, other}, after);
  EXPECT_EQ(names(changes.fixed), Names{"a"});
  EXPECT_EQ(names(changes.slower), Names{"a"});
  EXPECT_TRUE(changes.removed.empty());
}

} // namespace
