// Tests that misbehave in every way we know: each ends in one outcome with the right stage, and the
// tests after it are unharmed.

#include "cupel/testbench/runner/RunnerTesting.h"
#include "cupel/testbench/worker/Protocol.h"

#include <csignal>

namespace cupel::testbench::runner {
namespace {

using results::Outcome;
using results::Stage;
using results::TestRecord;

class Faults : public RunnerTesting {};

TEST_F(Faults, Segfault) {
  TestRecord record = between("execute segfault");
  EXPECT_EQ(record.outcome, Outcome::Crashed);
  EXPECT_EQ(record.lastStage, Stage::Execute);
  EXPECT_EQ(record.signal, SIGSEGV);
  EXPECT_EQ(record.errorClass, "SIGSEGV");
  EXPECT_EQ(record.message, "crashed in stage execute: signal 11, SIGSEGV (Segmentation fault)");
  EXPECT_EQ(record.stages.size(), 4u);
}

TEST_F(Faults, Abort) {
  TestRecord record = between("compile abort");
  EXPECT_EQ(record.outcome, Outcome::Crashed);
  EXPECT_EQ(record.lastStage, Stage::Compile);
  EXPECT_EQ(record.signal, SIGABRT);
}

TEST_F(Faults, Exit) {
  TestRecord record = between("load exit 3");
  EXPECT_EQ(record.outcome, Outcome::Crashed);
  EXPECT_EQ(record.lastStage, Stage::Load);
  EXPECT_EQ(record.exitCode, 3);
}

TEST_F(Faults, EndlessLoop) {
  options.timeoutSeconds = 0.5;
  TestRecord record = between("execute loop");
  EXPECT_EQ(record.outcome, Outcome::TimedOut);
  EXPECT_EQ(record.lastStage, Stage::Execute);
  EXPECT_LT(record.seconds, 5);
}

TEST_F(Faults, StageTimeout) {
  options.stageTimeouts[Stage::Frontend] = 0.3;
  TestRecord record = between("frontend loop");
  EXPECT_EQ(record.outcome, Outcome::TimedOut);
  EXPECT_EQ(record.lastStage, Stage::Frontend);
  EXPECT_NE(record.message.find("stage frontend took longer than 0.3 s"), std::string::npos);
}

TEST_F(Faults, IgnoresSigterm) {
  options.timeoutSeconds = 0.3;
  TestRecord record = between("execute ignore-term");
  EXPECT_EQ(record.outcome, Outcome::TimedOut);
  EXPECT_EQ(record.lastStage, Stage::Execute);
  EXPECT_EQ(record.signal, SIGKILL);
}

TEST_F(Faults, AllocatesWithoutEnd) {
  options.memoryLimitBytes = 300 << 20;
  TestRecord record = between("execute allocate");
  EXPECT_EQ(record.outcome, Outcome::OutOfMemory);
  EXPECT_EQ(record.lastStage, Stage::Execute);
  EXPECT_GT(record.peakMemoryBytes, 300u << 20);
}

TEST_F(Faults, AllTogetherPassTheBudget) {
  options.memoryBudgetBytes = 400 << 20;
  options.jobs = 2;
  add("execute sleep 1");
  size_t greedy = add("execute allocate");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::Passed);
  // Alone it is too much, too.
  EXPECT_EQ(outcome.records[greedy].outcome, Outcome::OutOfMemory);
}

TEST_F(Faults, WhatDoesNotFitBesideOthersRunsAlone) {
  options.memoryBudgetBytes = 500 << 20; // For one of the two, of which nothing is known.
  options.jobs = 2;
  add("execute hold 300");
  add("execute hold 300");
  RunOutcome outcome = go();
  size_t alone = 0;
  for (const TestRecord &record : outcome.records) {
    EXPECT_EQ(record.outcome, Outcome::Passed) << record.message;
    EXPECT_GT(record.peakMemoryBytes, 300u << 20);
    alone += record.notes.contains("ran_alone");
  }
  EXPECT_EQ(alone, 1u);
}

TEST_F(Faults, ChildHoldsThePipe) {
  std::string mark = folder + "/mark";
  TestRecord record = between("execute child " + mark);
  EXPECT_EQ(record.outcome, Outcome::Passed);
  EXPECT_EQ(record.notes.at("left_running").substr(0, 1), "1");
  EXPECT_TRUE(isGone(mark));
}

TEST_F(Faults, DaemonHoldsThePipe) {
  std::string mark = folder + "/mark";
  TestRecord record = between("execute daemon " + mark);
  EXPECT_EQ(record.outcome, Outcome::Passed);
  EXPECT_TRUE(isGone(mark));
}

TEST_F(Faults, WhatTheWorkerKeepsIsNoLeftover) {
  std::string mark = folder + "/mark", other = folder + "/other";
  add("execute keep " + mark);
  add("execute expect-kept " + mark);
  add("execute child " + other);
  add("execute expect-kept " + mark);
  RunOutcome outcome = go();
  for (const TestRecord &record : outcome.records)
    EXPECT_EQ(record.outcome, Outcome::Passed) << record.message;
  EXPECT_FALSE(outcome.records[0].notes.contains("left_running"));
  EXPECT_TRUE(outcome.records[2].notes.contains("left_running"));
  EXPECT_FALSE(outcome.records[3].notes.contains("left_running")) << "the one before left it";
  EXPECT_TRUE(isGone(other));
  EXPECT_TRUE(isGone(mark)) << "it goes with its worker";
}

TEST_F(Faults, ADeviceThatIsGivenUpCostsItsOwnTestAlone) {
  add("execute give-up");
  add("execute expect-device");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::Passed);
  EXPECT_TRUE(outcome.records[0].notes.contains(worker::kGivenUpNote));
  EXPECT_EQ(outcome.records[1].outcome, Outcome::Passed) << outcome.records[1].message;
}

TEST_F(Faults, ChildOutlivesTheWorker) {
  std::string mark = folder + "/mark";
  TestRecord record = between("execute child-and-die " + mark);
  EXPECT_EQ(record.outcome, Outcome::Crashed);
  EXPECT_EQ(record.lastStage, Stage::Execute);
  EXPECT_TRUE(isGone(mark));
}

TEST_F(Faults, GrandchildrenAreEndedAtATimeout) {
  options.timeoutSeconds = 0.4;
  std::string mark = folder + "/mark";
  TestRecord record = between("execute child-and-loop " + mark);
  EXPECT_EQ(record.outcome, Outcome::TimedOut);
  EXPECT_TRUE(isGone(mark));
}

TEST_F(Faults, PrintsAGigabyte) {
  TestRecord record = between("execute print 1073741824");
  EXPECT_EQ(record.outcome, Outcome::Passed);
  EXPECT_LT(record.output.size(), options.passedOutputCapBytes + 200);
  EXPECT_GT(record.output.size(), options.passedOutputCapBytes - 200);
  EXPECT_NE(record.output.find("of 1073741824 bytes of output left out"), std::string::npos);
}

TEST_F(Faults, ClosesItsStandardStreams) {
  TestRecord record = between("execute close-standard");
  EXPECT_EQ(record.outcome, Outcome::Passed);
}

TEST_F(Faults, ClosesAllDescriptors) {
  TestRecord record = between("execute close-all");
  EXPECT_EQ(record.outcome, Outcome::Crashed);
  EXPECT_EQ(record.lastStage, Stage::Execute);
  EXPECT_NE(record.message.find("closed its connection"), std::string::npos) << record.message;
}

TEST_F(Faults, ClosesAllDescriptorsAndStays) {
  TestRecord record = between("execute close-and-loop");
  EXPECT_EQ(record.outcome, Outcome::Crashed);
  EXPECT_EQ(record.lastStage, Stage::Execute);
  EXPECT_EQ(record.errorClass, "lost_connection");
}

TEST_F(Faults, KillsItsParentsGroup) {
  TestRecord record = between("execute kill-parents-group");
  EXPECT_EQ(record.outcome, Outcome::Crashed);
  EXPECT_EQ(record.lastStage, Stage::Execute);
}

TEST_F(Faults, KillsItsOwnGroup) {
  TestRecord record = between("execute kill-own-group");
  EXPECT_EQ(record.outcome, Outcome::Crashed);
  EXPECT_EQ(record.signal, SIGKILL);
}

TEST_F(Faults, BreaksTheProtocol) {
  TestRecord record = between("execute garbage");
  EXPECT_EQ(record.outcome, Outcome::Crashed);
  EXPECT_EQ(record.errorClass, "protocol_error");
}

TEST_F(Faults, CrashesAfterItsResult) {
  // Whoever comes next is tried again rather than blamed, if it had not begun.
  for (int i = 0; i < 3; ++i) {
    TestRecord record = between("execute crash-later");
    EXPECT_EQ(record.outcome, Outcome::Passed);
  }
}

TEST_F(Faults, LeavesNoSurroundings) {
  add("compare change-surroundings");
  for (int i = 0; i < 3; ++i)
    add("compare expect-surroundings");
  for (const TestRecord &record : go().records)
    EXPECT_EQ(record.outcome, Outcome::Passed) << record.message;
}

TEST_F(Faults, OutputGoesToItsTest) {
  for (int i = 0; i < 50; ++i)
    add("execute say word" + std::to_string(i));
  options.jobs = 2;
  RunOutcome outcome = go();
  for (size_t i = 0; i < outcome.records.size(); ++i)
    EXPECT_EQ(outcome.records[i].output, "word" + std::to_string(i) + "\n");
}

TEST_F(Faults, AllAtOnce) {
  options.jobs = 2;
  // Long enough, and little enough memory, that those who do not loop get there on a busy machine.
  options.timeoutSeconds = 6;
  options.memoryLimitBytes = 64 << 20;
  std::vector<std::pair<const char *, Outcome>> all = {
      {"execute segfault", Outcome::Crashed},      {"load abort", Outcome::Crashed},
      {"compile loop", Outcome::TimedOut},         {"execute allocate", Outcome::OutOfMemory},
      {"execute close-all", Outcome::Crashed},     {"execute kill-parents-group", Outcome::Crashed},
      {"execute ignore-term", Outcome::TimedOut},  {"execute print 100000000", Outcome::Passed},
      {"execute close-standard", Outcome::Passed}, {"compare fail", Outcome::Failed}};
  std::vector<Outcome> expected;
  for (const auto &[line, result] : all) {
    add(line);
    add("compare pass");
    expected.push_back(result);
    expected.push_back(Outcome::Passed);
  }
  RunOutcome outcome = go();
  for (size_t i = 0; i < outcome.records.size(); ++i)
    EXPECT_EQ(outcome.records[i].outcome, expected[i]) << i << ": " << outcome.records[i].message;
}

/// Tests that go to two servers: the first hands over, the second judges.
class Chains : public RunnerTesting {
protected:
  Chains() {
    options.server(Server::Python).command = {options.server(Server::Worker).command[0], "--first"};
  }
  size_t addCase(const std::string &first, const std::string &second = "compare pass") {
    size_t number = add(first + "\n" + second);
    items[number].suite = "opcases";
    items[number].op = "torch.add";
    return number;
  }
};

TEST_F(Chains, BothServersHaveTheirTurn) {
  addCase("reference say one", "compare say two");
  add("compare pass");
  addCase("reference fail");
  addCase("reference pass", "compare fail");
  RunOutcome outcome = go();
  const TestRecord &first = outcome.records[0];
  EXPECT_EQ(first.outcome, Outcome::Passed) << first.message;
  EXPECT_EQ(first.output, "one\ntwo\n");
  ASSERT_FALSE(first.stages.empty());
  EXPECT_EQ(first.stages.back().stage, Stage::Compare);
  EXPECT_EQ(outcome.records[1].outcome, Outcome::Passed);
  EXPECT_EQ(outcome.records[2].outcome, Outcome::Failed);
  EXPECT_EQ(outcome.records[2].lastStage, Stage::Reference);
  EXPECT_EQ(outcome.records[3].outcome, Outcome::Failed);
}

TEST_F(Chains, StagesHaveTheTimesOfWhoWasInThem) {
  // We may read of two stages at once, and our clock says nothing of the first of them then.
  addCase("reference times 700", "compare pass");
  addCase("reference times 700", "compare times 50");
  RunOutcome outcome = go();
  auto secondsOf = [&](size_t test, Stage stage) {
    const auto &stages = outcome.records[test].stages;
    auto found = std::ranges::find(stages, stage, &results::StageTime::stage);
    return found == stages.end() ? -1 : found->seconds;
  };
  EXPECT_EQ(secondsOf(0, Stage::Load), 700);
  EXPECT_NEAR(secondsOf(0, Stage::Reference), 1, 0.9); // The second passes through it, too.
  EXPECT_GE(secondsOf(0, Stage::Compare), 0);
  EXPECT_EQ(secondsOf(1, Stage::Load), 750);
  EXPECT_EQ(secondsOf(1, Stage::Reference), 2);
}

TEST_F(Chains, ADyingServerIsNamedAndReplaced) {
  addCase("reference segfault");
  addCase("reference pass", "execute abort");
  addCase("reference pass");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::Crashed);
  EXPECT_EQ(outcome.records[0].message,
            "the Python worker crashed in stage reference with torch.add of case t0: signal 11, "
            "SIGSEGV (Segmentation fault)");
  EXPECT_EQ(outcome.records[1].message,
            "the worker crashed in stage execute with torch.add of case t1: signal 6, SIGABRT "
            "(Aborted)");
  EXPECT_EQ(outcome.records[2].outcome, Outcome::Passed) << outcome.records[2].message;
}

TEST_F(Chains, LimitsHoldForAllServers) {
  options.timeoutSeconds = 0.5;
  addCase("reference loop");
  addCase("reference pass", "execute loop");
  addCase("reference pass");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::TimedOut);
  EXPECT_EQ(outcome.records[1].outcome, Outcome::TimedOut);
  EXPECT_EQ(outcome.records[2].outcome, Outcome::Passed) << outcome.records[2].message;
}

TEST_F(Chains, AServerThatDoesNotStartCostsItsTestsAlone) {
  options.server(Server::Python).command = {folder + "/nothing"};
  options.server(Server::Python).hint = " (do this)";
  for (int i = 0; i < 5; ++i)
    addCase("reference pass");
  size_t other = add("compare pass");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[other].outcome, Outcome::Passed) << outcome.records[other].message;
  EXPECT_TRUE(outcome.badDevices.empty());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(outcome.records[i].outcome, Outcome::NotRun);
    EXPECT_NE(outcome.records[i].message.find("the Python worker does not start"),
              std::string::npos);
    EXPECT_NE(outcome.records[i].message.find("/nothing"), std::string::npos);
    EXPECT_NE(outcome.records[i].message.find("(do this)"), std::string::npos);
  }
}

TEST_F(Chains, ATestMayBeOverBeforeAnyServer) {
  for (int i = 0; i < 50; ++i)
    addCase("reference pass");
  options.prepare = [](const TestItem &item, const std::string &, bool) {
    Prepared prepared;
    if (item.id != "t49") {
      prepared.ended.emplace();
      prepared.ended->outcome = Outcome::Skipped;
      prepared.ended->message = "not here";
    }
    return prepared;
  };
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[7].outcome, Outcome::Skipped);
  EXPECT_EQ(outcome.records[7].message, "not here");
  EXPECT_EQ(outcome.records[49].outcome, Outcome::Passed) << outcome.records[49].message;
}

} // namespace
} // namespace cupel::testbench::runner
