#include "cupel/results/report/Terminal.h"
#include "cupel/results/report/TestRun.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>

using namespace cupel;
using namespace cupel::results;

namespace {

/// Plays a run to a reporter and returns what it printed.
std::string play(TerminalOptions options) {
  char *text = nullptr;
  size_t size = 0;
  options.out = ::open_memstream(&text, &size);
  double now = 0;
  options.clock = [&now] { return now += 0.06; };
  {
    std::unique_ptr<Reporter> reporter = makeTerminalReporter(options);
    reporter->runStarted(sampleRun());
    uint32_t slot = 0;
    for (const TestRecord &record : sampleRecords()) {
      reporter->testStarted(record.fullName(), slot, 1);
      reporter->stageEntered(record.fullName(), slot, Stage::Load);
      reporter->tick();
      reporter->stageEntered(record.fullName(), slot, record.lastStage);
      reporter->testEnded(record);
      slot = (slot + 1) % 2;
    }
    reporter->note("device 1 went bad");
    reporter->runEnded(sampleRun(), nullptr);
  }
  std::fclose(options.out);
  std::string result(text, size);
  std::free(text);
  return result;
}

/// What a screen shows of a text with the sequences a bar uses: enough of a terminal for a test.
std::vector<std::string> onScreen(const std::string &text) {
  std::vector<std::string> screen(1);
  size_t row = 0, column = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      column = 0;
      if (++row == screen.size())
        screen.emplace_back();
    } else if (text[i] == '\r') {
      column = 0;
    } else if (text[i] == '\x1b') {
      size_t end = text.find_first_of("ABCDHJKm", i);
      if (end == std::string::npos)
        break;
      std::string number = text.substr(i + 2, end - i - 2);
      if (text[end] == 'A')
        row -= std::min<size_t>(row, size_t(std::atoi(number.c_str())));
      if (text[end] == 'J') {
        screen.resize(row + 1);
        screen[row].resize(column);
      }
      i = end;
    } else {
      screen[row].resize(std::max(screen[row].size(), column + 1), ' ');
      screen[row][column++] = text[i];
    }
  }
  return screen;
}

TEST(Terminal, APipeGetsOneLineATest) {
  std::istringstream lines(play({}));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);)
    all.push_back(line);
  ASSERT_GT(all.size(), 15u);
  EXPECT_EQ(all[0], "Run 20251115-094640-8000: 13 tests on reference as n150");
  EXPECT_EQ(all[1], "PASSED        programs::elementwise/add.mlir (12 ms)");
  EXPECT_EQ(all[2],
            "FAILED        models::llama/causal_lm/pytorch-3_2_1B-single_device-inference "
            "(41.5 s) at compare: DATA_MISMATCH_WRONG_PCC: output 0: pcc 0.913 is below the "
            "required 0.99; it's 'close'");
  EXPECT_EQ(all[8], "CRASHED       programs::crash.mlir (0.50 s) at execute: SEG_FAULT: signal 11");
  EXPECT_EQ(all[11], "PASSED        programs::flaky.mlir (0.25 s) [flaky: passed on try 2 of 3]");
  EXPECT_EQ(all[12], "UNJUDGED      programs::alone.mlir (0.12 s) no expectation: nobody says what it "
                     "should give");
  EXPECT_EQ(all[13], "NOT RUN       opcases::add_f32 needs the op-case runner");
  EXPECT_EQ(all[14], "note: device 1 went bad");
  EXPECT_EQ(play({}).find('\x1b'), std::string::npos);
}

TEST(Terminal, QuietShowsOnlyWhatIsNotAsExpected) {
  TerminalOptions options;
  options.quiet = true;
  std::string text = play(options);
  EXPECT_EQ(text.find("add.mlir"), std::string::npos);
  EXPECT_NE(text.find("CRASHED       programs::crash.mlir"), std::string::npos);
  EXPECT_NE(text.find("[flaky: passed on try 2 of 3]"), std::string::npos);
}

TEST(Terminal, ALiveTerminalEndsWithoutItsBar) {
  TerminalOptions options;
  options.live = true;
  options.width = 60;
  std::string text = play(options);
  // There was a bar, and running tests with their stages.
  EXPECT_NE(text.find("[####"), std::string::npos);
  EXPECT_NE(text.find("  load "), std::string::npos);
  std::vector<std::string> screen = onScreen(text);
  size_t bars = 0, failures = 0;
  for (const std::string &line : screen) {
    bars += line.starts_with("[#") || line.starts_with("[.");
    failures += line.starts_with("CRASHED       programs::crash.mlir");
    EXPECT_EQ(line.find("load   "), std::string::npos) << line;
  }
  EXPECT_EQ(bars, 0u);
  EXPECT_EQ(failures, 1u);
  // Nothing that redraws is wider than the screen: a wrapped bar could not be erased.
  for (size_t at = 0; (at = text.find("\x1b[J", at)) != std::string::npos; at += 3) {
    size_t end = std::min(text.find('\n', at), text.find('\r', at + 3));
    if (text.compare(at + 3, 1, "[") == 0) {
      EXPECT_LE(end - at - 3, 60u);
    }
  }
}

TEST(Terminal, ColoursOnlyWhereAsked) {
  TerminalOptions options;
  options.colour = true;
  EXPECT_NE(play(options).find("\x1b[31m"), std::string::npos);
  std::FILE *file = std::tmpfile();
  EXPECT_FALSE(TerminalOptions::forStream(file).live);
  EXPECT_FALSE(TerminalOptions::forStream(file).colour);
  std::fclose(file);
}

TEST(Terminal, CountsThatDoNotAddUpAreSaid) {
  Tally tally;
  for (const TestRecord &record : sampleRecords())
    tally.add(record);
  RunInfo run = sampleRun();
  EXPECT_EQ(summaryText(run, tally, nullptr, {}).find("UNACCOUNTED"), std::string::npos);
  run.selected = 15;
  EXPECT_NE(summaryText(run, tally, nullptr, {})
                .find("UNACCOUNTED: 2 selected tests of 15 have no outcome"),
            std::string::npos);
}

TEST(Terminal, SaysWhatToTypeNext) {
  Tally tally;
  TestRecord good = sampleRecords()[0];
  tally.add(good);
  RunInfo run = sampleRun();
  run.selected = 1;
  TerminalOptions options;
  options.commandTail = "--results r";
  options.runWords = " programs -j 4";
  std::string text = summaryText(run, tally, nullptr, options);
  EXPECT_NE(text.find("Next:\n  cupel show 20251115-094640-8000 --results r\n"), std::string::npos)
      << text;
  good.outcome = Outcome::Failed;
  tally.add(good);
  text = summaryText(run, tally, nullptr, options);
  EXPECT_NE(text.find("  cupel show programs::elementwise/add.mlir --results r\n"),
            std::string::npos);
  EXPECT_NE(text.find("  cupel run programs -j 4 -R latest --results r\n"), std::string::npos);
}

} // namespace
