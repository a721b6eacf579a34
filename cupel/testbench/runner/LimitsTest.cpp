#include "cupel/testbench/runner/Limits.h"
#include "cupel/support/TemporaryFolder.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>

namespace cupel::testbench::runner {
namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

class ControlGroups : public testing::Test {
protected:
  TemporaryFolder folder{"cupel-groups"};

  void write(const std::string &file, const std::string &text) {
    std::filesystem::path path = folder.path / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  uint64_t limit(const std::string &groups) {
    std::istringstream text(groups);
    return controlGroupLimit(text, folder.path.string());
  }
};

TEST_F(ControlGroups, AJobHasTheLimitOfItsGroupAndOfThoseAbove) {
  write("memory.max", "max");
  write("system.slice/memory.max", "9000");
  write("system.slice/job_7/memory.max", "4000");
  write("system.slice/job_7/step_0/memory.max", "max");
  write("system.slice/job_8/memory.max", "70000");
  EXPECT_EQ(limit("0::/system.slice/job_7/step_0\n"), 4000u);
  EXPECT_EQ(limit("0::/system.slice/job_8\n"), 9000u);
  EXPECT_EQ(limit("0::/\n"), kNone);
}

TEST_F(ControlGroups, HierarchiesOfTheirOwnAreRead) {
  write("memory/memory.limit_in_bytes", "9223372036854771712");
  write("memory/slurm/uid_0/memory.limit_in_bytes", "5000");
  write("cpu/slurm/memory.limit_in_bytes", "1");
  EXPECT_EQ(limit("7:cpu,cpuacct:/slurm\n4:hugetlb,memory:/slurm/uid_0/job_3\n0::/\n"), 5000u);
}

TEST_F(ControlGroups, InAContainerTheRootIsItsOwn) {
  write("memory.max", "6000");
  EXPECT_EQ(limit("0::/docker/0fa1b61e\n"), 6000u);
  EXPECT_EQ(limit("0::/../other\n"), 6000u);
}

TEST_F(ControlGroups, WhatIsNoListOfGroupsLimitsNothing) {
  EXPECT_EQ(limit(""), kNone);
  EXPECT_EQ(limit("nothing\n:\n"), kNone);
}

} // namespace
} // namespace cupel::testbench::runner
