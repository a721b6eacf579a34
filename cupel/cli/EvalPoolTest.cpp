// The pool with work that misbehaves: every program is told once, in order, whatever its process
// does.

#include "cupel/cli/EvalPool.h"

#include <csignal>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace cupel::cli {
namespace {

struct Told {
  std::vector<std::string> texts; // Output, or the error's first words.
  size_t passed = 0, failed = 0, left = 0;
};

Told run(EvalPool::Options options, const EvalPool::Work &work) {
  Told told;
  Result<size_t> left = EvalPool::run(options, work, [&](const ProgramReport &report) {
    ++(report.failed ? told.failed : told.passed);
    told.texts.push_back(report.output + report.errors);
  });
  EXPECT_TRUE(static_cast<bool>(left));
  told.left = *left;
  return told;
}

std::vector<std::string> names(size_t count) {
  std::vector<std::string> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back("file" + std::to_string(i));
  return result;
}

void program(ProgramChannel &channel, const std::string &output) {
  channel.start(output);
  ProgramReport report;
  report.output = output;
  channel.done(report);
}

TEST(EvalPool, TellsInOrderWhateverTheNumberOfProcesses) {
  for (unsigned processes : {1u, 3u, 16u}) {
    Told told = run({names(40), processes}, [](size_t file, size_t, ProgramChannel &channel) {
      usleep(file % 3 ? 100 : 3000);
      channel.programs(2);
      program(channel, std::to_string(file) + "a");
      program(channel, std::to_string(file) + "b");
    });
    EXPECT_EQ(told.passed, 80u);
    EXPECT_EQ(told.left, 0u);
    ASSERT_EQ(told.texts.size(), 80u);
    for (size_t i = 0; i < 80; ++i)
      EXPECT_EQ(told.texts[i], std::to_string(i / 2) + (i % 2 ? "b" : "a"));
  }
}

TEST(EvalPool, ACrashCostsItsProgramAlone) {
  Told told = run({names(5), 2}, [](size_t file, size_t first, ProgramChannel &channel) {
    channel.programs(3);
    for (size_t i = first; i < 3; ++i) {
      std::string name = std::to_string(file) + "." + std::to_string(i);
      if (file == 2 && i == 1) {
        channel.start(name);
        raise(SIGSEGV);
      }
      program(channel, name);
    }
  });
  EXPECT_EQ(told.passed, 14u);
  EXPECT_EQ(told.failed, 1u);
  ASSERT_EQ(told.texts.size(), 15u);
  EXPECT_EQ(told.texts[7].rfind("cupel eval: error: 2.1: the program crashed: its process ended "
                                "with signal 11",
                                0),
            0u)
      << told.texts[7];
  EXPECT_EQ(told.texts[8], "2.2");
}

TEST(EvalPool, NamesAFileWhoseProcessEndsBeforeItSaysAnything) {
  Told told = run({names(3), 1}, [](size_t file, size_t, ProgramChannel &channel) {
    if (file == 1)
      _exit(3);
    channel.programs(1);
    program(channel, "x");
  });
  EXPECT_EQ(told.passed, 2u);
  EXPECT_EQ(told.failed, 1u);
  EXPECT_NE(told.texts[1].find("file1: the program crashed: its process ended with exit code 3"),
            std::string::npos)
      << told.texts[1];
}

TEST(EvalPool, EndsAProgramThatIgnoresItsTime) {
  EvalPool::Options options{names(2), 2, 0.05};
  Told told = run(options, [](size_t file, size_t, ProgramChannel &channel) {
    channel.programs(1);
    channel.start("slow");
    if (file == 0)
      for (;;)
        pause();
    channel.done({});
  });
  EXPECT_EQ(told.passed, 1u);
  EXPECT_EQ(told.failed, 1u);
  EXPECT_NE(told.texts[0].find("took longer than 0.05 s"), std::string::npos) << told.texts[0];
}

TEST(EvalPool, LargeOutputArrivesWhole) {
  std::string large(5 << 20, 'x');
  Told told = run({names(3), 2}, [&](size_t, size_t, ProgramChannel &channel) {
    channel.programs(1);
    program(channel, large);
  });
  EXPECT_EQ(told.texts, std::vector<std::string>(3, large));
}

TEST(EvalPool, AnInterruptTellsWhatIsDone) {
  std::signal(SIGINT, SIG_DFL); // It may be ignored where tests are started in the background.
  pid_t parent = getpid();
  Told told = run({names(6), 2}, [&](size_t file, size_t, ProgramChannel &channel) {
    channel.programs(1);
    if (file == 3) {
      usleep(20000);
      kill(parent, SIGINT);
    }
    if (file >= 3)
      for (;;)
        pause();
    program(channel, std::to_string(file));
  });
  EXPECT_EQ(told.passed, 3u);
  EXPECT_EQ(told.failed, 0u);
  EXPECT_EQ(told.left, 3u);
}

TEST(EvalPool, NoFilesAreNoWork) {
  Told told = run({{}, 4}, [](size_t, size_t, ProgramChannel &) { FAIL(); });
  EXPECT_EQ(told.passed + told.failed + told.left, 0u);
}

} // namespace
} // namespace cupel::cli
