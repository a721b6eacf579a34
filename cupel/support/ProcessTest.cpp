#include "cupel/support/Process.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace cupel;

TEST(Process, KnowsItsOwnFolder) {
  EXPECT_TRUE(std::filesystem::exists(executableFolder() + "/cupel_support_test"));
}

TEST(Process, CapturesBothStreamsAndTheExitCode) {
  Result<CommandOutput> output = runCommand({"sh", "-c", "echo out; echo err >&2; exit 3"});
  ASSERT_TRUE(output);
  EXPECT_EQ(output->text, "out\nerr\n");
  EXPECT_EQ(output->exitCode, 3);
  EXPECT_GT(output->wall.count(), 0);
}

TEST(Process, ReportsASignal) {
  Result<CommandOutput> output = runCommand({"sh", "-c", "kill -9 $$"});
  ASSERT_TRUE(output);
  EXPECT_EQ(output->exitCode, 128 + 9);
}

TEST(Process, SaysWhenACommandCannotStartOrDoesNotAnswer) {
  EXPECT_EQ(runCommand({"/no/such/command"}).message(),
            "/no/such/command: cannot start: No such file or directory");
  EXPECT_EQ(runCommand({"sleep", "30"}, std::chrono::seconds(1)).message(),
            "sleep: no answer within 1 seconds");
}

TEST(Process, FindsProgramsOnThePath) {
  EXPECT_NE(findOnPath("sh"), "");
  EXPECT_EQ(findOnPath("no-such-command-of-cupel"), "");
}

TEST(Process, ReportsAProgramThatCannotBeExecuted) {
  EXPECT_EQ(execute("/no/such/program", {}).message(),
            "/no/such/program: cannot start: No such file or directory");
}
