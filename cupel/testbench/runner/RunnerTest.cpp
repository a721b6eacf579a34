// What a run does with statuses, tries, devices, order and signals.

#include "cupel/testbench/runner/RunnerTesting.h"

#include <csignal>
#include <sys/resource.h>

namespace cupel::testbench::runner {
namespace {

using config::TestStatus;
using results::Outcome;
using results::Stage;
using results::TestRecord;

class Runs : public RunnerTesting {};

TEST_F(Runs, WhatIsHandedOutHasItsTurn) {
  for (int i = 0; i < 7; ++i)
    add("compare pass");
  items[2].expectation.status = TestStatus::NotSupportedSkip;
  std::vector<std::vector<size_t>> left = {{5}, {}, {3, 2}, {0}};
  options.jobs = 2;
  options.handOut = [&] {
    Handout handout;
    if (!left.empty()) {
      handout.tests = left.back();
      left.pop_back();
    }
    handout.isLast = left.empty();
    return handout;
  };
  Result<RunOutcome> outcome = runner::run(items, options, nullptr, recorder);
  ASSERT_TRUE(outcome) << outcome.message();
  std::vector<size_t> shown = recorder.order;
  std::ranges::sort(shown);
  EXPECT_EQ(shown, (std::vector<size_t>{0, 2, 3, 5}));
  EXPECT_EQ(recorder.starts, 3u);
  EXPECT_EQ(outcome->records[5].outcome, Outcome::Passed);
  EXPECT_EQ(outcome->records[2].outcome, Outcome::Skipped);
  EXPECT_TRUE(outcome->records[1].id.empty()); // Nobody handed it out.
}

TEST_F(Runs, StatusesAct) {
  struct Case {
    const char *line;
    TestStatus status;
    bool forceRun, runXfail;
    Outcome expected;
  };
  const Case cases[] = {
      {"compare pass", TestStatus::Unspecified, false, false, Outcome::Passed},
      {"compare fail", TestStatus::Unspecified, false, false, Outcome::Failed},
      {"compare pass", TestStatus::ExpectedPassing, false, false, Outcome::Passed},
      {"compare fail", TestStatus::ExpectedPassing, false, false, Outcome::Failed},
      {"compare fail", TestStatus::KnownFailureXfail, false, false, Outcome::XFailed},
      {"execute abort", TestStatus::KnownFailureXfail, false, false, Outcome::XFailed},
      {"compare pass", TestStatus::KnownFailureXfail, false, false, Outcome::XPassed},
      {"compare fail", TestStatus::KnownFailureXfail, false, true, Outcome::Failed},
      {"compare pass", TestStatus::KnownFailureXfail, false, true, Outcome::Passed},
      {"execute abort", TestStatus::NotSupportedSkip, false, false, Outcome::Skipped},
      {"execute abort", TestStatus::NotSupportedSkip, true, false, Outcome::Crashed},
      {"compare pass", TestStatus::NotSupportedSkip, true, false, Outcome::Passed},
  };
  for (const Case &c : cases) {
    items.clear();
    add(c.line);
    items[0].expectation.status = c.status;
    items[0].expectation.reason = "issue 12";
    options.forceRun = c.forceRun;
    options.runXfail = c.runXfail;
    TestRecord record = go().records.at(0);
    EXPECT_EQ(record.outcome, c.expected) << c.line << " " << config::name(c.status);
    EXPECT_EQ(record.testStatus, config::name(c.status));
    if (c.expected == Outcome::Skipped) {
      EXPECT_EQ(record.message, "issue 12");
      EXPECT_EQ(record.attempts, 0u);
      EXPECT_EQ(record.startedAt, 0);
    }
    if (c.expected == Outcome::XPassed) {
      EXPECT_EQ(record.message.substr(0, 5), "XPASS");
    }
  }
}

TEST_F(Runs, WhatCannotRunYetSaysWhatItNeeds) {
  for (const char *suite : {"placeholder"}) {
    add("compare pass");
    items.back().suite = suite;
  }
  for (const TestRecord &record : go().records) {
    EXPECT_EQ(record.outcome, Outcome::NotRun);
    EXPECT_EQ(record.message.substr(0, 6), "needs ") << record.message;
  }
  EXPECT_EQ(recorder.starts, 0u);
}

TEST_F(Runs, FailedTestsAreKept) {
  options.keep.folder = folder + "/kept";
  options.timeoutSeconds = 1;
  auto keptOf = [&](const std::string &line) {
    TestRecord record = between(line);
    std::string text;
    if (!record.reproduction.empty())
      std::getline(std::ifstream(record.reproduction + "/how"), text);
    return text;
  };
  EXPECT_EQ(keptOf("compare fail"), "failed compare");
  EXPECT_EQ(keptOf("execute segfault"), "crashed execute");
  EXPECT_EQ(keptOf("compare pass"), "");
  EXPECT_EQ(keptOf("frontend fail"), ""); // There is no program yet.
  // Whatever becomes of the folder, the outcome stays.
  for (auto [how, why] : {std::pair("keep-segfault", "crashed"),
                          {"keep-loop", "took longer than 1 s"},
                          {"keep-refuse", "it is too large"}}) {
    TestRecord record = between(std::string("compare fail x ") + how);
    EXPECT_EQ(record.outcome, Outcome::Failed) << how;
    EXPECT_EQ(record.reproduction, "") << how;
    EXPECT_NE(record.notes["not kept"].find(why), std::string::npos) << record.notes["not kept"];
    EXPECT_EQ(recorder.notices.size(), 1u) << how;
  }
  options.keep.folder.clear();
  EXPECT_EQ(keptOf("compare fail"), "");
}

TEST_F(Runs, OnlySoMuchOfARunIsKept) {
  options.keep = {.folder = folder + "/kept", .runBytes = 2000};
  options.jobs = 1;
  for (int i = 0; i < 4; ++i)
    add("compare fail");
  size_t kept = 0;
  for (const TestRecord &record : go().records) {
    EXPECT_EQ(record.outcome, Outcome::Failed);
    kept += !record.reproduction.empty();
  }
  EXPECT_EQ(kept, 2u);
  EXPECT_EQ(recorder.notices.size(), 1u);
}

TEST_F(Runs, NamesOfKeptTestsAreFileNames) {
  auto named = [](std::string suite, std::string id) {
    TestItem item;
    item.suite = std::move(suite);
    item.id = std::move(id);
    return keptName(item);
  };
  EXPECT_EQ(named("programs", "add.mlir"), "programs-add.mlir");
  EXPECT_NE(named("programs", "a/b.mlir"), named("programs", "a_b.mlir"));
  EXPECT_EQ(named("programs", "a/b#2").find_first_of("/#"), std::string::npos);
  EXPECT_LT(named("models", std::string(500, 'x')).size(), 128u);
}

TEST_F(Runs, RetriesAreTold) {
  options.retries = 2;
  size_t flaky = add("execute flaky " + folder + "/a");
  size_t crash = add("execute flaky-crash " + folder + "/b");
  size_t never = add("execute fail");
  size_t good = add("execute pass");
  size_t known = add("execute fail");
  items[known].expectation.status = TestStatus::KnownFailureXfail;
  RunOutcome outcome = go();
  const TestRecord &record = outcome.records[flaky];
  EXPECT_EQ(record.outcome, Outcome::Passed);
  EXPECT_TRUE(record.flaky);
  EXPECT_EQ(record.attempts, 2u);
  EXPECT_EQ(record.message, "flaky: passed on try 2 of 3");
  EXPECT_EQ(record.tryOutcomes, (std::vector{Outcome::Failed, Outcome::Passed}));
  EXPECT_EQ(outcome.records[crash].tryOutcomes, (std::vector{Outcome::Crashed, Outcome::Passed}));
  EXPECT_TRUE(outcome.records[crash].flaky);
  EXPECT_EQ(outcome.records[never].outcome, Outcome::Failed);
  EXPECT_EQ(outcome.records[never].attempts, 3u);
  EXPECT_FALSE(outcome.records[never].flaky);
  EXPECT_EQ(outcome.records[good].attempts, 1u);
  EXPECT_EQ(outcome.records[known].attempts, 1u) << "a known failure needs no second try";
}

TEST_F(Runs, ABadDeviceGetsNoMoreTests) {
  // The device of that name is broken as soon as the file is there: the first test makes it.
  std::string bad = folder + "/device-a";
  options.devices = {{.name = bad}};
  add("execute flaky-crash " + bad);
  for (int i = 0; i < 5; ++i)
    add("compare pass");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::Crashed);
  EXPECT_EQ(outcome.badDevices.count(bad), 1u);
  for (size_t i = 1; i < outcome.records.size(); ++i) {
    EXPECT_EQ(outcome.records[i].outcome, Outcome::NotRun);
    EXPECT_NE(outcome.records[i].message.find("the fake device is broken"), std::string::npos)
        << outcome.records[i].message;
  }
  ASSERT_EQ(recorder.notices.size(), 1u);
}

TEST_F(Runs, TestsOfABadDeviceGoElsewhere) {
  std::string one = folder + "/device-a", other = folder + "/device-b";
  options.devices = {{.name = one}, {.name = other}};
  options.jobs = 2;
  // The first test breaks its device, whichever that is; the others end only once that is known, so
  // that how fast either device is makes no difference.
  markNotice = folder + "/marked";
  add("execute break-device");
  for (int i = 0; i < 20; ++i)
    add("execute await " + markNotice);
  RunOutcome outcome = go();
  ASSERT_EQ(outcome.badDevices.size(), 1u);
  std::string bad = outcome.badDevices.begin()->first;
  EXPECT_EQ(outcome.records[0].device, bad);
  EXPECT_EQ(outcome.records[0].outcome, Outcome::Crashed);
  for (size_t i = 1; i < outcome.records.size(); ++i) {
    EXPECT_EQ(outcome.records[i].outcome, Outcome::Passed) << outcome.records[i].message;
    EXPECT_EQ(outcome.records[i].device, bad == one ? other : one);
  }
}

TEST_F(Runs, ATestThatComesBackToABadDevice) {
  // Two workers on one device. One test was given to a worker that does not begin it and dies when
  // the device has been found bad by the other: nobody is left who could take it.
  options.devices = {{.name = folder + "/device-a"}};
  options.jobs = 2;
  markNotice = folder + "/marked";
  add("execute deaf-until " + markNotice);
  add("execute break-device-after " + markNotice + ".deaf");
  for (int i = 0; i < 4; ++i)
    add("compare pass");
  RunOutcome outcome = go();
  EXPECT_FALSE(outcome.interrupted);
  EXPECT_EQ(outcome.records[0].outcome, Outcome::Passed);
  EXPECT_EQ(outcome.records[1].outcome, Outcome::Crashed);
  for (size_t i = 2; i < items.size(); ++i)
    EXPECT_EQ(outcome.records[i].outcome, Outcome::NotRun) << outcome.records[i].message;
}

TEST_F(Runs, ADeviceIsCheckedBeforeItsFirstTest) {
  std::string bad = folder + "/broken";
  std::ofstream(bad) << "broken";
  options.devices = {{.name = bad}};
  add("compare pass");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::NotRun);
  EXPECT_EQ(recorder.starts, 0u);
}

TEST_F(Runs, AGoodDeviceSurvivesCrashes) {
  for (int i = 0; i < 10; ++i) {
    add("execute abort");
    add("compare pass");
  }
  options.jobs = 2;
  RunOutcome outcome = go();
  EXPECT_TRUE(outcome.badDevices.empty());
  for (size_t i = 0; i < outcome.records.size(); ++i)
    EXPECT_EQ(outcome.records[i].outcome, i % 2 ? Outcome::Passed : Outcome::Crashed);
}

TEST_F(Runs, AWorkerThatDoesNotStart) {
  options.server(Server::Worker).command.push_back("--die");
  add("compare pass");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::NotRun);
  EXPECT_NE(outcome.records[0].message.find("exit code 3: this worker cannot start"),
            std::string::npos)
      << outcome.records[0].message;
}

TEST_F(Runs, AWorkerThatIsNotThere) {
  options.server(Server::Worker).command = {folder + "/nothing"};
  add("compare pass");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::NotRun);
  EXPECT_NE(outcome.records[0].message.find("No such file"), std::string::npos)
      << outcome.records[0].message;
}

TEST_F(Runs, AGuardThatSaysNothing) {
  // Its worker is gone and nobody tells: the run must not wait for that for ever.
  options.timeoutSeconds = 0.5;
  size_t stopped = add("execute stop-guard");
  size_t next = add("compare pass");
  RunOutcome outcome = go();
  EXPECT_TRUE(results::isBad(outcome.records[stopped].outcome));
  EXPECT_EQ(outcome.records[stopped].lastStage, results::Stage::Execute);
  EXPECT_EQ(outcome.records[next].outcome, Outcome::Passed) << outcome.records[next].message;
}

TEST_F(Runs, AWorkerOfAnotherVersion) {
  options.server(Server::Worker).command.push_back("--speak=999");
  add("compare pass");
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::NotRun);
  EXPECT_NE(outcome.records[0].message.find("speaks version 999"), std::string::npos)
      << outcome.records[0].message;
}

TEST_F(Runs, LongestFirst) {
  for (int i = 0; i < 4; ++i)
    add("compare pass");
  options.forecasts["programs::t0"].seconds = 1;
  options.forecasts["programs::t1"].seconds = 3;
  options.forecasts["programs::t3"].seconds = 5;
  go();
  // t2 is unknown and counts as the mean, 3.
  EXPECT_EQ(recorder.order, (std::vector<size_t>{3, 1, 2, 0}));
}

TEST_F(Runs, TestsThatNeedTooManyChips) {
  options.devices = {{.name = "reference", .chips = 2}};
  add("compare pass");
  add("compare pass");
  options.forecasts["programs::t1"].chips = 8;
  RunOutcome outcome = go();
  EXPECT_EQ(outcome.records[0].outcome, Outcome::Passed);
  EXPECT_EQ(outcome.records[1].outcome, Outcome::NotRun);
  EXPECT_EQ(outcome.records[1].message, "needs 8 devices, and there are 2");
}

/// Sends signals to this process when a test begins.
struct Interrupting : Recorder {
  int signals = 0;
  void started(size_t, const TestItem &, uint32_t, uint32_t) override {
    if (++starts == 2)
      for (int i = 0; i < signals; ++i)
        raise(SIGINT);
  }
};

TEST_F(Runs, OneInterruptEndsInOrder) {
  add("compare pass");
  for (int i = 0; i < 5; ++i)
    add("execute loop");
  results::RunInfo info;
  info.id = "test";
  std::vector<std::string> names;
  for (const TestItem &item : items)
    names.push_back(item.fullName());
  std::string path = folder + "/interrupted.jsonl";
  auto journal = Journal::create(path, info, names);
  ASSERT_TRUE(journal);
  Interrupting interrupting;
  interrupting.signals = 1;
  Result<RunOutcome> outcome = runner::run(items, options, journal->get(), interrupting);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_FALSE(outcome->stoppedAtOnce);
  EXPECT_EQ(outcome->records[0].outcome, Outcome::Passed);
  EXPECT_EQ(outcome->records[1].outcome, Outcome::Interrupted);
  EXPECT_EQ(outcome->records[1].lastStage == Stage::Done, false);
  for (size_t i = 2; i < items.size(); ++i)
    EXPECT_EQ(outcome->records[i].outcome, Outcome::NotRun);
  EXPECT_EQ(interrupting.order.size(), items.size());
  Result<JournalContents> contents = readJournal(path);
  ASSERT_TRUE(contents);
  EXPECT_TRUE(contents->canResume());
  EXPECT_TRUE(JournalContents::isFinal(contents->records.at("programs::t0")));
  EXPECT_FALSE(JournalContents::isFinal(contents->records.at("programs::t1")));
  EXPECT_FALSE(JournalContents::isFinal(contents->records.at("programs::t2")));
}

TEST_F(Runs, TwoInterruptsStopAtOnce) {
  add("compare pass");
  for (int i = 0; i < 5; ++i)
    add("execute ignore-term");
  results::RunInfo info;
  info.id = "test";
  std::vector<std::string> names;
  for (const TestItem &item : items)
    names.push_back(item.fullName());
  std::string path = folder + "/stopped.jsonl";
  auto journal = Journal::create(path, info, names);
  ASSERT_TRUE(journal);
  Interrupting interrupting;
  interrupting.signals = 2;
  Result<RunOutcome> outcome = runner::run(items, options, journal->get(), interrupting);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->stoppedAtOnce);
  Result<JournalContents> contents = readJournal(path);
  ASSERT_TRUE(contents);
  EXPECT_EQ(contents->records.size(), 1u);
  EXPECT_EQ(contents->killedWhileRunning.at("programs::t1"), 1u);
}

TEST_F(Runs, AFullDiskEndsTheRunWithAMessage) {
  for (int i = 0; i < 100; ++i)
    add("execute print 100000");
  // The journal may grow to a few kilobytes only.
  rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = {64 << 10, before.rlim_max};
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  results::RunInfo info;
  info.id = "test";
  auto journal = Journal::create(folder + "/full.jsonl", info, {});
  ASSERT_TRUE(journal);
  setrlimit(RLIMIT_FSIZE, &small);
  Result<RunOutcome> outcome = runner::run(items, options, journal->get(), recorder);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.message().find("the journal cannot be written"), std::string::npos);
  // What is shown is what is safe.
  Result<JournalContents> contents = readJournal(folder + "/full.jsonl");
  ASSERT_TRUE(contents);
  EXPECT_GE(contents->records.size(), recorder.order.size());
  EXPECT_LT(recorder.order.size(), items.size());
}

} // namespace
} // namespace cupel::testbench::runner
