// What the tests of the runner share: runs of tests that a fake worker carries out.
#pragma once

#include "cupel/support/Process.h"
#include "cupel/testbench/runner/Journal.h"
#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/runner/Runner.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cupel::testbench::runner {

/// Counts what an observer is told.
struct Recorder : Observer {
  std::vector<size_t> order;
  std::vector<std::string> notices;
  size_t starts = 0;
  void started(size_t, const TestItem &, uint32_t, uint32_t) override { ++starts; }
  void finished(size_t index, const TestItem &, const results::TestRecord &) override {
    order.push_back(index);
  }
  void notice(const std::string &text) override {
    notices.push_back(text);
    if (!markNotice.empty())
      std::ofstream(markNotice) << text;
  }
  std::string markNotice; ///< A file to make at a notice.
};

class RunnerTesting : public testing::Test {
protected:
  RunnerTesting() {
    std::string pattern = testing::TempDir() + "cupel-runner-XXXXXX";
    folder = mkdtemp(pattern.data());
    options.server(Server::Worker).command = {executableFolder() + "/../tests/fake-worker"};
    options.scratchFolder = folder + "/scratch";
    options.timeoutSeconds = 20;
    options.terminateGraceSeconds = 0.2;
  }
  ~RunnerTesting() override { std::filesystem::remove_all(folder); }

  /// Adds a test that does `line`; its number.
  size_t add(const std::string &line) {
    TestItem item;
    item.suite = "programs";
    item.id = "t" + std::to_string(items.size());
    item.file = folder + "/" + item.id + ".fake";
    std::ofstream(item.file) << line << "\n";
    items.push_back(item);
    return items.size() - 1;
  }

  /// Runs what was added; fails the test where the run itself does.
  RunOutcome go() {
    std::vector<std::string> names;
    for (const TestItem &item : items)
      names.push_back(item.fullName());
    results::RunInfo run;
    run.id = "test";
    std::string path = folder + "/journal" + std::to_string(journals++) + ".jsonl";
    auto journal = Journal::create(path, run, names);
    if (!journal) {
      ADD_FAILURE() << journal.message();
      return {};
    }
    recorder = {};
    recorder.markNotice = markNotice;
    Result<RunOutcome> outcome = runner::run(items, options, journal->get(), recorder);
    if (!outcome) {
      ADD_FAILURE() << outcome.message();
      return {};
    }
    // Every test once, in the result, on the screen and in the journal.
    EXPECT_EQ(outcome->records.size(), items.size());
    std::vector<size_t> shown = recorder.order;
    std::ranges::sort(shown);
    for (size_t i = 0; i < items.size(); ++i) {
      EXPECT_EQ(outcome->records[i].id, items[i].id);
      EXPECT_TRUE(i < shown.size() && shown[i] == i);
    }
    Result<JournalContents> contents = readJournal(path);
    EXPECT_TRUE(contents && contents->records.size() == items.size() && !contents->doubled &&
                !contents->damaged);
    if (contents)
      for (const results::TestRecord &record : outcome->records)
        EXPECT_EQ(contents->records.at(record.fullName()), record);
    return std::move(*outcome);
  }

  /// One test that does `line` between two that pass; what became of it.
  results::TestRecord between(const std::string &line) {
    items.clear();
    add("compare pass");
    size_t middle = add(line);
    add("compare pass");
    add("compare pass");
    RunOutcome outcome = go();
    if (outcome.records.size() != 4)
      return {};
    for (size_t i : {0, 2, 3}) {
      EXPECT_EQ(outcome.records[i].outcome, results::Outcome::Passed)
          << line << ": " << outcome.records[i].message;
      EXPECT_EQ(outcome.records[i].attempts, 1u);
    }
    return outcome.records[middle];
  }

  /// Whether the process whose number `file` holds is gone, within a second.
  static bool isGone(const std::string &file) {
    pid_t process = 0;
    for (int i = 0; i < 100 && !(std::ifstream(file) >> process); ++i)
      usleep(10'000);
    for (int i = 0; i < 100; ++i) {
      std::ifstream status("/proc/" + std::to_string(process) + "/stat");
      std::string number, name, state;
      if (!(status >> number >> name >> state) || state == "Z" || state == "X")
        return process != 0;
      usleep(10'000);
    }
    return false;
  }

  std::string folder, markNotice;
  RunnerOptions options;
  std::vector<TestItem> items;
  Recorder recorder;
  int journals = 0;
};

} // namespace cupel::testbench::runner
